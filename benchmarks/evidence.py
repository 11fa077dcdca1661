"""Evidence: measure a claim on several seeds, and say whether it holds."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from . import isolated, results
from .claims import CLAIMS


def measure_seed(name: str, seed: int) -> dict[str, Any]:
    """Measure a claim on one seed, in this process.

    Args:
        name: Key of `CLAIMS`.
        seed: The seed of everything.
    """
    import torch

    torch.set_num_threads(1)
    return CLAIMS[name].measure(seed)


def benchmark(name: str, command: str, *, seeds: int, jobs: int) -> dict[str, Any]:
    """Measure a claim on seeds 1 to `seeds`, `jobs` at a time."""
    claim, numbers = CLAIMS[name], range(1, seeds + 1)
    result = results.circumstances("evidence", command, numbers)

    def one(seed: int) -> dict[str, Any]:
        measured = isolated.call(measure_seed, 1, name=name, seed=seed)
        held = "holds" if claim.holds(measured) else "does not hold"
        print(f"{name}, seed {seed}: {held}", flush=True)
        return measured

    with ThreadPoolExecutor(jobs) as pool:
        measured = list(pool.map(one, numbers))
    passed, needed = claim.passed(measured), claim.needed(seeds)
    return result | {
        "claim": name,
        "statement": claim.statement,
        "criterion": f"{claim.criterion}; on at least {needed} of {seeds} seeds",
        "x_label": claim.x_label,
        "y_label": claim.y_label,
        "jobs": jobs,
        "passed": passed,
        "holds": passed >= needed,
        "runs": [
            {"seed": seed, "holds": bool(claim.holds(run)), **parted(run)}
            for seed, run in zip(numbers, measured, strict=True)
        ],
    }


def parted(measured: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What was measured, parted into `numbers`, `series` and, if any, `details`.

    Details are for a figure of its own: no table has them, and `plot` does not.
    """
    details = {name: v for name, v in measured.items() if isinstance(v, dict)}
    series = {name: v for name, v in measured.items() if isinstance(v, list)}
    rest = {name for name in measured if name not in details and name not in series}
    numbers = {name: v for name, v in measured.items() if name in rest}
    return {"numbers": numbers, "series": series, **details}


def report(result: dict[str, Any]) -> str:
    """A result as a table, its verdict and its circumstances."""
    names = list(result["runs"][0]["numbers"])
    rows = [_row(run, names) for run in result["runs"]]
    means = [
        statistics.mean(run["numbers"][n] for run in result["runs"]) for n in names
    ]
    rows.append(["mean", *(f"{value:.6g}" for value in means), ""])
    held = "holds" if result["holds"] else "DOES NOT HOLD"
    return (
        f"{results.table(['seed', *names, 'holds'], rows)}\n\n"
        f"{result['statement']}\n{result['criterion']}: {result['passed']}, {held}\n"
        f"{results.footer(result)}"
    )


def _row(run: dict[str, Any], names: Sequence[str]) -> list[str]:
    numbers = [f"{run['numbers'][name]:.6g}" for name in names]
    return [str(run["seed"]), *numbers, "yes" if run["holds"] else "no"]
