"""Chapter 3, MDPs, returns and planning.

`exercise.py` plans on a table whose sweep is missing. Fill the gap, then

    yieldrl check ch03
"""
