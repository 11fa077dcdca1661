"""Chapter 4, Monte Carlo, TD, SARSA and Q-learning."""
