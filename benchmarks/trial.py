"""Claims that are judged by all runs together, each measured by a script of its own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import results, subprocesses
from .runs import Runs

Table = tuple[list[str], list[list[str]]]  # a header, and rows
Demand = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What is claimed or measured, how, and how it is judged and shown."""

    name: str  # of its files in docs/results: a kind, and a word
    statement: str
    table: Callable[[Runs], Table]
    draw: Callable[[Any, Runs], object] | None = None  # on Matplotlib's axes
    axes: Mapping[str, Any] = field(default_factory=dict)  # what is set of them
    run: Callable[..., Any] | None = None  # of a case and a seed, in its own process
    cases: Sequence[Mapping[str, Any]] = ({},)
    settings: Mapping[str, Any] = field(default_factory=dict)  # written down
    judge: Callable[[Runs], list[Demand]] = lambda _: []
    timed: bool = False  # then there is one process at a time
    # all runs, of so many seeds and jobs, where they depend on each other
    together: Callable[[int, int], Runs] | None = None

    def measure(self, command: str, seeds: int, jobs: int) -> dict[str, Any]:
        """The result of every case with seeds from 1 on."""
        found = results.circumstances(
            self.name.partition("-")[0], command, range(1, seeds + 1)
        )
        if self.together:
            runs = self.together(seeds, jobs)
        else:
            assert self.run
            cases = [{"seed": s, **case} for s in found["seeds"] for case in self.cases]
            runs = subprocesses.each(self.run, cases, 1 if self.timed else jobs)
        demands, (header, rows) = self.judge(runs), self.table(runs)
        return found | {
            "claim": self.name,
            "statement": self.statement,
            "settings": self.settings,
            "table": {"header": header, "rows": rows},
            "demands": demands,
            "holds": all(demand["holds"] for demand in demands),
            "runs": runs,
        }

    def has_figure(self, result: Mapping[str, Any]) -> bool:
        """Whether it is drawn."""
        return self.draw is not None

    def fill(self, axes: Any, result: Mapping[str, Any]) -> None:
        """Draw its figure."""
        assert self.draw
        self.draw(axes, result["runs"])
        axes.set(**self.axes)


def at_least(demand: str, value: float, bound: float) -> Demand:
    """A number that must not be lower than its bound."""
    return {"demand": demand, "value": value, "bound": bound, "holds": value >= bound}


def at_most(demand: str, value: float, bound: float) -> Demand:
    """A number that must not be higher than its bound."""
    return {"demand": demand, "value": value, "bound": bound, "holds": value <= bound}
