"""The record of a claim: how it is measured and judged, and how it is shown.

Its code is a module with these names; all but the first are optional:

    train(seed, **case)     one run, in a process of its own; `run` may name another one
    CASES                   what is run with every seed: keyword arguments of each run
    measure(options)        all runs, where they are not independent of each other
    SETTINGS                what all runs have in common, or settings(**arguments)
    judge(runs)             what is demanded of the runs
    table(runs)             the runs as a table
    draw(axes, runs)        the runs as a figure
"""

from __future__ import annotations

import importlib
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import evidence, subprocesses

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
    """Processes at a time, where nothing is timed."""

    minutes: float = 20.0
    """How long a claim takes that only watches whether anything grows."""

    @property
    def numbers(self) -> range:
        """The seeds themselves: 1, 2, ..."""
        return range(1, self.seeds + 1)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What is demanded of a number, and whether it is so."""

    demand: str
    value: float
    bound: float
    holds: bool


def at_least(demand: str, value: float, bound: float) -> Verdict:
    """A number that must not be lower than its bound."""
    return Verdict(demand=demand, value=value, bound=bound, holds=value >= bound)


def at_most(demand: str, value: float, bound: float) -> Verdict:
    """A number that must not be higher than its bound."""
    return Verdict(demand=demand, value=value, bound=bound, holds=value <= bound)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Something that is claimed, how it is measured, and how it can turn out false."""

    statement: str
    """What is claimed, or what is measured, in a sentence."""

    module: Any
    """The code: a module or its name."""

    run: str = "train"
    """Name of the function that makes one run."""

    arguments: dict[str, Any] = field(default_factory=dict)
    """Keyword arguments that every run has, for modules of several claims."""

    timed: bool = False
    """Whether runs are timed: then there is one process at a time."""

    is_one_run: bool = False
    """Whether there is one run alone, which takes `minutes`."""

    figure: dict[str, Any] = field(default_factory=dict)
    """Properties of the axes by Matplotlib's names (title, xlabel, yscale ...); a scale
    may be "log2"."""

    criterion: str = ""
    """What must hold on a seed, in words; of claims that are judged seed by seed."""

    bounds: Sequence[str] = ()
    """The same as comparisons, as "2 * bias of double_dqn <= bias of dqn"."""

    share: float = 1.0
    """Share of the seeds on which it must hold."""

    x_label: str = "environment steps"
    y_label: str = ""
    """Labels of the lines that are measured on every seed."""

    @property
    def code(self) -> Any:
        """The module, imported when it is first needed."""
        name = self.module
        return importlib.import_module(name) if isinstance(name, str) else name

    @property
    def settings(self) -> dict[str, Any]:
        """What all runs have in common."""
        if hasattr(self.code, "settings"):
            return self.code.settings(**self.arguments)
        return dict(getattr(self.code, "SETTINGS", {}))

    def holds(self, measured: Run) -> bool:
        """Whether the criterion holds in what was measured on a seed."""
        return all(evidence.compare(bound, measured) for bound in self.bounds)

    def needed(self, seeds: int) -> int:
        """On how many of so many seeds it must hold."""
        return round(self.share * seeds)

    def passed(self, runs: Sequence[Run]) -> int:
        """On how many seeds it does."""
        return sum(self.holds(run) for run in runs)

    def measure(self, options: Options) -> list[dict[str, Any]]:
        """All runs: every case with every seed, in processes of their own."""
        code = self.code
        if hasattr(code, "measure"):
            return code.measure(options, **self.arguments)
        cases = [
            {"seed": seed, **self.arguments, **case}
            for seed in options.numbers
            for case in getattr(code, "CASES", [{}])
        ]
        jobs = 1 if self.timed else options.jobs
        function = getattr(code, self.run)
        return subprocesses.each(function, cases, jobs, outcome=self._outcome)

    def _outcome(self, run: Run) -> str:
        """The outcome of a run, in words."""
        if not self.criterion:
            return "done"
        return "holds" if self.holds(run) else "does not hold"

    def judge(self, runs: Sequence[Run]) -> list[Verdict]:
        """What is demanded of the runs; nothing where the code does not say."""
        return self.code.judge(runs) if hasattr(self.code, "judge") else []

    def table(self, runs: Sequence[Run]) -> Table:
        """The runs as a table; by default their numbers, seed by seed."""
        return getattr(self.code, "table", evidence.table)(runs)

    def draw(self, axes: Axes, runs: Sequence[Run]) -> None:
        """The runs as a figure."""
        self.code.draw(axes, runs)
        for name, value in self.figure.items():
            if value == "log2":
                getattr(axes, f"set_{name}")("log", base=2)
            else:
                axes.set(**{name: value})


def values(runs: Sequence[Run], *path: str, **where: Any) -> list[Any]:
    """What lies at a path in every run in which entries have these values."""
    found: list[Any] = []
    for run in runs:
        if all(run.get(name) == value for name, value in where.items()):
            value: Any = run
            for key in path:
                value = value[key]
            found.append(value)
    return found


def mean(runs: Sequence[Run], *path: str, **where: Any) -> float:
    """The mean of `values`."""
    return statistics.mean(values(runs, *path, **where))


def median(runs: Sequence[Run], *path: str, **where: Any) -> float:
    """The median of `values`."""
    return statistics.median(values(runs, *path, **where))
