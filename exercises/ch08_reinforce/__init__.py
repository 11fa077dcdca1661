"""Chapter 8, REINFORCE."""
