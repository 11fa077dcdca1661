"""Chapter 17, your own algorithm.

`exercise.py` is Munchausen DQN, as a difference to DQN, whose target is missing. Fill
the gap, then

    yieldrl check ch17
"""
