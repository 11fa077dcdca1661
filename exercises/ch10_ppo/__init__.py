"""Chapter 10, PPO.

`exercise.py` is PPO whose policy loss is missing. Fill the gap, then

    yieldrl check ch10
"""
