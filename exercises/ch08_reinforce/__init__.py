"""Chapter 8, REINFORCE.

`exercise.py` is REINFORCE whose returns and loss are missing. Fill both gaps, then

    yieldrl check ch08
"""
