"""Chapter 3, MDPs, returns and planning."""
