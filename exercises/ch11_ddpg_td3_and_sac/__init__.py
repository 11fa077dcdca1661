"""Chapter 11, DDPG, TD3 and SAC.

`exercise.py` is TD3 and SAC whose targets are missing. Fill the gaps, then

    yieldrl check ch11
"""
