"""Chapter 7, from Double DQN to Rainbow.

`exercise.py` is Rainbow with three of its differences missing. Fill the gaps, then

    yieldrl check ch07
"""
