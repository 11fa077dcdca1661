"""Chapter 2, bandits and exploration."""
