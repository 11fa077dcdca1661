"""Chapter 4, Monte Carlo, TD, SARSA and Q-learning.

`exercise.py` is Q-learning and SARSA whose targets are missing. Fill the gaps, then

    yieldrl check ch04
"""
