"""Chapter 20, worlds inside."""
