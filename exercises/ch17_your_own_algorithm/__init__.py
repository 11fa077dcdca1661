"""Chapter 17, your own algorithm."""
