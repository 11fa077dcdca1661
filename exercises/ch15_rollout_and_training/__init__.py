"""Chapter 15, rollout and training."""
