"""Chapter 5, the four classes, and measuring.

`exercise.py` trains on two lakes and reports, but its statistics are missing: the
interquartile mean, and its interval. Fill the gaps, then

    yieldrl check ch05
"""
