"""Chapter 15, rollout and training.

`exercise.py` is PPO that collects in the background, and what corrects for the older
policy that acted, V-trace, is missing. Fill the gap, then

    yieldrl check ch15
"""
