"""Chapter 9, actor-critic and GAE."""
