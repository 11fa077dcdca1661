"""Chapter 6, DQN.

`exercise.py` is DQN whose target and whose loss are missing. Fill both gaps, then

    yieldrl check ch06
"""
