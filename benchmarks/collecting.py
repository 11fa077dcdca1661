"""Collecting: what collectors in the background gain, change, cost and hold."""

from __future__ import annotations

import dataclasses
from typing import Any

from . import results
from .trials import TRIALS, Options


def benchmark(name: str, command: str, **options: Any) -> dict[str, Any]:
    """Measure a trial, and judge it.

    Args:
        name: Key of `TRIALS`.
        command: The command line that repeats it.
        options: Fields of `Options`.
    """
    trial, chosen = TRIALS[name], Options(**options)
    seeds = [1] if trial.is_one_run else range(1, chosen.seeds + 1)
    result = results.circumstances("collecting", command, seeds)
    runs = trial.measure(chosen)
    demands = judged(name, runs)
    return result | {
        "trial": name,
        "settings": trial.settings,
        "demands": demands,
        "holds": all(of["holds"] for of in demands),
        "runs": runs,
    }


def judged(name: str, runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a trial demands of its runs, and whether it is so."""
    return [dataclasses.asdict(verdict) for verdict in TRIALS[name].judge(runs)]


def report(result: dict[str, Any]) -> str:
    """A result as a table, its verdicts and its circumstances."""
    trial = TRIALS[result["trial"]]
    lines = [trial.statement, "", results.table(*trial.table(result["runs"])), ""]
    return "\n".join([*lines, *map(verdict, result["demands"]), results.footer(result)])


def verdict(demand: dict[str, Any]) -> str:
    """What came out, what was asked for, and whether that is so."""
    held = "holds" if demand["holds"] else "DOES NOT HOLD"
    value, bound = demand["value"], demand["bound"]
    return f"{demand['demand']}: {value:.4g}, asked for {bound:g}: {held}"
