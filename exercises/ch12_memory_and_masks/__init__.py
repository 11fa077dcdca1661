"""Chapter 12, memory and masks.

`exercise.py` is recurrent PPO without its walk through time, and PPO with action masks
without the masks. Fill the gaps, then

    yieldrl check ch12
"""
