"""Chapter 2, bandits and exploration.

`exercise.py` is Q-learning that can neither choose nor average. Fill the gaps, then

    yieldrl check ch02
"""
