"""What lies in the runs of a result, and how it is summed up."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

Run = Mapping[str, Any]  # one thing that was measured: a line of the result file
Runs = Sequence[Run]


def some(runs: Runs, **where: Any) -> list[Run]:
    """The runs in which entries have these values."""
    return [run for run in runs if all(run.get(k) == v for k, v in where.items())]


def values(runs: Runs, *path: str, **where: Any) -> list[Any]:
    """What lies at a path in every run in which entries have these values."""
    found: list[Any] = []
    for value in some(runs, **where):
        for key in path:
            value = value[key]
        found.append(value)
    return found


def mean(runs: Runs, *path: str, **where: Any) -> float:
    return statistics.mean(values(runs, *path, **where))


def median(runs: Runs, *path: str, **where: Any) -> float:
    return statistics.median(values(runs, *path, **where))


def spread(found: Sequence[float], of: str = ".3f", ends: str | None = None) -> str:
    """Mean, least and greatest."""
    low, high = (format(end, ends or of) for end in (min(found), max(found)))
    return f"{statistics.mean(found):{of}} ({low} to {high})"
