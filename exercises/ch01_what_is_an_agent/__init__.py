"""Chapter 1, what is an agent.

`exercise.py` compares a random policy with a trained one, and cannot play yet. Fill the
gap, then

    yieldrl check ch01
"""
