"""The course's exercises: fill the gap of a chapter, and let `check` say what holds.

    >>> from yieldrl.exercises import chapters
    >>> "ch09" in chapters()
    True

Each lies in a folder of its own: `exercise.py` is working code with a gap, `check.py`
the properties of an answer, `solution.py` the answer of the authors.
"""

from yieldrl.exercises.comparing import Wrong, expect, expect_close
from yieldrl.exercises.finding import chapters, check

__all__ = ["Wrong", "chapters", "check", "expect", "expect_close"]
