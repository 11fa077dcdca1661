"""The course's exercises: fill the gap of a chapter, and let `check` say what holds.

    >>> from yieldrl.exercises import chapters
    >>> "ch09" in chapters()
    True

Each lies in a folder of its own: `solution.py` is the answer of the authors, from which
`exercise.py` is made, working code with a gap, and `check.py` has the properties of an
answer.
"""

from yieldrl.exercises.checking import check, grade
from yieldrl.exercises.comparing import Wrong, expect, expect_close
from yieldrl.exercises.gaps import chapters

__all__ = ["Wrong", "chapters", "check", "expect", "expect_close", "grade"]
