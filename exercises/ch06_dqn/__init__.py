"""Chapter 6, DQN."""
