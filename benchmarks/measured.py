"""Trials: what they measured, judged and written down."""

from __future__ import annotations

import dataclasses
from typing import Any

from . import results
from .families import FAMILIES
from .trials import Options, Trial


def benchmark(family: str, name: str, command: str, **options: Any) -> dict[str, Any]:
    """Measure a trial, and judge it.

    Args:
        family: Key of `FAMILIES`.
        name: Key of its trials.
        command: The command line that repeats it.
        options: Fields of `Options`.
    """
    trial, chosen = FAMILIES[family][name], Options(**options)
    seeds = [1] if trial.is_one_run else range(1, chosen.seeds + 1)
    result = results.circumstances(family, command, seeds)
    runs = trial.measure(chosen)
    demands = judged(trial, runs)
    return result | {
        "trial": name,
        "settings": trial.settings,
        "demands": demands,
        "holds": all(of["holds"] for of in demands),
        "runs": runs,
    }


def trial_of(result: dict[str, Any]) -> Trial:
    """What a result is one of."""
    return FAMILIES[result["kind"]][result["trial"]]


def judged(trial: Trial, runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a trial demands of its runs, and whether it is so."""
    return [dataclasses.asdict(verdict) for verdict in trial.judge(runs)]


def report(result: dict[str, Any]) -> str:
    """A result as a table, its verdicts and its circumstances."""
    trial = trial_of(result)
    lines = [trial.statement, "", results.table(*trial.table(result["runs"])), ""]
    return "\n".join(
        [*lines, *map(results.verdict, result["demands"]), results.footer(result)]
    )
