"""Claims that are judged seed by seed. Each is measured by a script of its own:

    python -m benchmarks.claims.evidence.overestimation double_dqn-chance --seeds 5

It prints a table; with `--keep` it writes the result and its figure into docs/results.
"""

import argparse
import importlib
import shlex
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from . import page, results, subprocesses
from .style import COLORS, INK, line, save_figure
from .trial import Runs, Table, Trial

Measured = Mapping[str, Any]
"""Of a seed: numbers, lines as lists of points, and what a figure needs, as a dict."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What is claimed, how a seed measures it, and when it holds on a seed."""

    name: str  # of its files in docs/results: an algorithm, and a word
    statement: str
    run: Callable[[int], Measured]  # of a seed, in a process of its own
    criterion: str  # in words
    holds: Callable[[Measured], bool]
    share: float = 1.0  # of the seeds on which it must hold
    x_label: str = "environment steps"
    y_label: str = ""

    def measure(self, command: str, seeds: int, jobs: int) -> dict[str, Any]:
        """The result of seeds from 1 on, `jobs` at a time."""
        found = results.circumstances("evidence", command, range(1, seeds + 1))
        cases = [{"seed": seed} for seed in found["seeds"]]
        measured = subprocesses.each(self.run, cases, jobs)
        passed, needed = sum(map(self.holds, measured)), round(self.share * seeds)
        runs = [
            {"seed": seed, "holds": self.holds(run), **parted(run)}
            for seed, run in enumerate(measured, 1)
        ]
        return found | {
            "claim": self.name,
            "jobs": jobs,
            "statement": self.statement,
            "criterion": f"{self.criterion}; on at least {needed} of {seeds} seeds",
            "x_label": self.x_label,
            "y_label": self.y_label,
            "passed": passed,
            "holds": passed >= needed,
            "runs": runs,
        }

    def table(self, runs: Runs) -> Table:
        """A row for each seed and one of means, a column for each number."""
        names = list(runs[0]["numbers"])
        rows = [
            [
                str(run["seed"]),
                *(f"{run['numbers'][name]:.6g}" for name in names),
                "yes" if run["holds"] else "no",
            ]
            for run in runs
        ]
        numbers = [run["numbers"] for run in runs]
        means = [statistics.mean(of[name] for of in numbers) for name in names]
        rows.append(["mean", *(f"{value:.6g}" for value in means), ""])
        return ["seed", *names, "holds"], rows

    def has_figure(self, result: Mapping[str, Any]) -> bool:
        """Whether there are lines, or numbers alone."""
        return bool(result["runs"][0]["series"])

    def fill(self, axes: Any, result: Mapping[str, Any]) -> None:
        """The lines; a name up to its comma chooses the colour, later ones are
        dashed."""
        import numpy as np

        from yieldrl.experiments.plot import aggregate

        colors = {"truth": INK}
        for name in result["runs"][0]["series"]:
            group, _, kind = name.partition(", ")
            first = group not in colors
            color = colors.setdefault(group, COLORS[len(colors) - 1])
            lines = [np.array(run["series"][name]).T for run in result["runs"]]
            drawn = aggregate(name, [(xs, ys) for xs, ys in lines])
            line(axes, drawn, color, "--" if kind and not first else "-")
        axes.set_title(result["statement"], wrap=True)
        axes.set(xlabel=result["x_label"], ylabel=result["y_label"])


def count(text: str) -> int:
    """A number of at least 1, of a command line."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text}: choose a number of at least 1")
    return value


def parser(claims: Sequence[Claim | Trial]) -> argparse.ArgumentParser:
    """The command line of a script with these claims."""
    words = argparse.ArgumentParser()
    words.add_argument("claims", nargs="+", choices=[claim.name for claim in claims])
    words.add_argument("--seeds", type=count, default=5, help="how many (5)")
    words.add_argument("--jobs", type=count, default=2, help="processes at a time (2)")
    words.add_argument("--keep", action="store_true", help="write into docs/results")
    return words


def main(claims: Sequence[Claim | Trial]) -> None:
    """Measure the claims that the command line names."""
    options = parser(claims).parse_args()
    for claim in (of for of in claims if of.name in options.claims):
        words = ["python", "-m", subprocesses.script(), claim.name]
        words += ["--seeds", str(options.seeds), "--jobs", str(options.jobs)]
        command = shlex.join(words)
        result = claim.measure(command, options.seeds, options.jobs)
        print(claim.statement, results.table(*claim.table(result["runs"])), sep="\n\n")
        print(*results.verdicts(result), results.footer(result), sep="\n")
        if options.keep:
            whole = result | page.entries(claim.name, result)
            path = results.save(whole, results.FOLDER / f"{claim.name}.json")
            if claim.has_figure(whole):
                save_figure(partial(claim.fill, result=whole), path.with_suffix(".svg"))


def claim_of(result: Mapping[str, Any]) -> Claim | Trial:
    """The claim of a result, from the script that its command names."""
    script = importlib.import_module(f"yieldrl.{result['command'].split()[2]}")
    return next(of for of in script.CLAIMS if of.name == result["claim"])


def parted(measured: Measured) -> dict[str, dict[str, Any]]:
    """What was measured, parted into `numbers`, `series` and, if any, `details`, which
    are for a figure of its own."""
    details = {name: v for name, v in measured.items() if isinstance(v, dict)}
    series = {name: v for name, v in measured.items() if isinstance(v, list)}
    numbers = {k: v for k, v in measured.items() if k not in {*details, *series}}
    return {"numbers": numbers, "series": series, **details}
