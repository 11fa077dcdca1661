"""Chapter 16, from an MLP to vision-language-action policies.

`exercise.py` is PPO on chunks of actions that does not know what a chunk came to. Fill
the gap, then

    yieldrl check ch16
"""
