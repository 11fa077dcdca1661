"""Schedules: values and numbers of updates as functions of the step."""


def linear(start: float, end: float, step: int, steps: float) -> float:
    """Linear interpolation from `start` to `end` over `steps`, constant after them.

    >>> linear(1.0, 0.5, 25, 100), linear(1.0, 0.5, 200, 100), linear(1.0, 0.5, 0, 0)
    (0.875, 0.5, 0.5)
    """
    done = min(1.0, step / steps) if steps > 0 else 1.0
    return start + done * (end - start)


def updates_due(step: int, first: int, every: int, count: int) -> int:
    """Updates due by a step: `count` at step `first`, and again every `every` steps.

    >>> [updates_due(step, first=4, every=2, count=3) for step in (0, 3, 4, 5, 6)]
    [0, 0, 3, 3, 6]
    """
    return max(0, (step - first) // every + 1) * count
