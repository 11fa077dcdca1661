"""Chapter 11, DDPG, TD3 and SAC."""
