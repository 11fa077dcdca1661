"""Chapter 14, debugging, from symptom to cause.

In each of the folders `broken_01` to `broken_06` somebody has changed PPO, and made one
mistake that raises no error. Name it by its readings, mend it in `exercise.py`, then

    yieldrl check ch14
"""
