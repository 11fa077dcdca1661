"""Chapter 18, policies that write."""
