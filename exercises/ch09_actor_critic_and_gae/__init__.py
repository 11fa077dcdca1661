"""Chapter 9, actor-critic and GAE.

`exercise.py` is A2C whose advantages are missing. Fill the gap, then

    yieldrl check ch09
"""
