"""The record of a claim: how it is measured and judged, and how it is shown.

Its code is a module with these names; all but the first are optional:

    train(seed, **case)     one run, in a process of its own, or several as `runs`;
                            `run` may name another function
    CASES                   what is run with every seed: keyword arguments of each run
    measure(options)        all runs, where they are not independent of each other
    SETTINGS                what all runs have in common, or settings(**arguments)
    judge(runs)             demands that its file cannot say
    table(runs)             a table that its file cannot say
    draw(axes, runs)        the runs as a figure
"""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from yieldrl.foundations.files import read_file

from . import subprocesses, terms
from .terms import Run, Table, Verdict, at_least, at_most, mean, median, values

__all__ = ["Claim", "Options", "Run", "Table", "Verdict", "at_least", "at_most"]
__all__ += ["constants", "mean", "median", "values"]


def constants(name: str, *wanted: str) -> tuple[Any, ...]:
    """Entries of `constants` in a claim's file, as "time/ppo": settings of its runs,
    and words for them. Lists are tuples."""
    path = Path(__file__).parent / "claims" / f"{name}.yaml"
    found = read_file(path)["constants"]
    return tuple(_with_tuples(found[key]) for key in wanted)


def _with_tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_tuples(of) for key, of in value.items()}
    return tuple(map(_with_tuples, value)) if isinstance(value, list) else value


@dataclass(frozen=True, kw_only=True)
class Options:
    seeds: int = 5  # seeds, each of them with a pair of sides where two are timed
    jobs: int = 2  # processes at a time, where nothing is timed
    # how long a claim takes that only watches whether anything grows
    minutes: float = 20.0

    @property
    def numbers(self) -> range:
        return range(1, self.seeds + 1)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Something that is claimed, how it is measured, and how it can turn out false."""

    statement: str  # what is claimed, or what is measured, in a sentence
    module: Any  # the code: a module or its name
    run: str = "train"  # name of the function that makes one run
    # keyword arguments that every run has, for modules of several claims
    arguments: dict[str, Any] = field(default_factory=dict)
    timed: bool = False  # whether runs are timed: then there is one process at a time
    is_one_run: bool = False  # whether there is one run alone, which takes `minutes`
    # what is demanded of all runs, in the words of `terms`
    demands: Sequence[dict[str, Any]] = ()
    # their table in these words: `rows`, `by` and `columns`
    shown: dict[str, Any] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)  # of its code
    # properties of the axes by Matplotlib's names (title, xlabel, yscale ...); a scale
    # may be "log2"
    figure: dict[str, Any] = field(default_factory=dict)

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
        return subprocesses.each(function, cases, jobs)

    def judge(self, runs: Sequence[Run]) -> list[Verdict]:
        """What is demanded of the runs, by the file or by the code."""
        if hasattr(self.code, "judge"):
            return self.code.judge(runs)
        return terms.judge(self.demands, runs, self.code)

    def table(self, runs: Sequence[Run]) -> Table:
        """The runs as a table."""
        if self.shown:
            return terms.table(self.shown, runs, self.code)
        return self.code.table(runs)

    def draw(self, axes: Any, runs: Sequence[Run]) -> None:
        self.code.draw(axes, runs)
        for name, value in self.figure.items():
            if value == "log2":
                getattr(axes, f"set_{name}")("log", base=2)
            else:
                axes.set(**{name: value})
