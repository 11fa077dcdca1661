"""Chapter 7, from Double DQN to Rainbow."""
