"""Chapter 5, the four classes, and measuring."""
