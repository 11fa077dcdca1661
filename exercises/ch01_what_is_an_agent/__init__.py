"""Chapter 1, what is an agent."""
