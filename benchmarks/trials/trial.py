"""What a trial is: something asked of collectors in the background, and measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from yieldrl.benchmarks import isolated

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Run = Mapping[str, Any]
"""One thing that was measured: a line of the result file."""

Table = tuple[list[str], list[list[str]]]
"""A header, and rows."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the command line may choose."""

    seeds: int = 5
    """Seeds, each of them with a pair of sides where two are timed."""

    jobs: int = 2
    """Processes at a time, where no processor is timed."""

    minutes: float = 20.0
    """How long a trial takes that only looks whether anything grows."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What is demanded of a number, and whether it is so."""

    demand: str
    value: float
    bound: float
    holds: bool


@dataclass(frozen=True, kw_only=True)
class Trial:
    """How to measure something of a collector, to judge and to show it."""

    statement: str
    """What is looked at, in a sentence."""

    measure: Callable[[Options], list[dict[str, Any]]]
    """All runs."""

    judge: Callable[[Sequence[Run]], list[Verdict]]
    """What is demanded of them."""

    table: Callable[[Sequence[Run]], Table]
    """Them as a table."""

    fill: Callable[[Axes, Sequence[Run]], None]
    """Draws them."""

    settings: dict[str, Any] = field(default_factory=dict)
    """What all runs have in common."""

    is_one_run: bool = False
    """Whether there is one run alone, which takes `minutes`."""


def at_least(demand: str, value: float, bound: float) -> Verdict:
    """A number that must not be lower than its bound."""
    return Verdict(demand=demand, value=value, bound=bound, holds=value >= bound)


def at_most(demand: str, value: float, bound: float) -> Verdict:
    """A number that must not be higher than its bound."""
    return Verdict(demand=demand, value=value, bound=bound, holds=value <= bound)


def each(
    function: Callable[..., dict[str, Any]], cases: Sequence[Run], jobs: int
) -> list[dict[str, Any]]:
    """Call a function for every case, in processes of their own, `jobs` at a time."""

    def one(case: Run) -> dict[str, Any]:
        run = isolated.call(function, 1, **case)
        named = ", ".join(f"{key} {value}" for key, value in case.items())
        print(f"{named}: done", flush=True)
        return run

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, cases))
