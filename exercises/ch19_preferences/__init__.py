"""Chapter 19, preferences."""
