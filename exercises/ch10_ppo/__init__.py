"""Chapter 10, PPO."""
