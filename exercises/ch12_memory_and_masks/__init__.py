"""Chapter 12, memory and masks."""
