"""What was learned: how the final returns of a task are judged, and shown."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from . import results
from .tasks import Task


def verdict(
    task: Task, runs: Sequence[dict[str, Any]], episodes: int
) -> dict[str, Any]:
    """What was asked of the final returns, and whether it held."""
    if task.threshold is None:
        return {"criterion": "none", "passed": len(runs), "holds": True}
    returns = final_returns(runs)
    return {
        "criterion": (
            f"episode_return >= {task.threshold:g} over {episodes} deterministic"
            f" episodes on at least {task.needed(len(runs))} of {len(runs)} seeds"
        ),
        "passed": task.passed(returns),
        "holds": task.holds(returns),
    }


def final_returns(runs: Sequence[dict[str, Any]]) -> list[float]:
    """The final evaluation's mean return of every seed."""
    return [run["final"]["episode_return"] for run in runs]


def world(result: dict[str, Any]) -> str:
    """What was learned: the environment, without the module that registers it, and the
    arguments that make it another one."""
    config = result["whole_config"]
    given = ", ".join(f"{k}={v}" for k, v in config.get("env_kwargs", {}).items())
    env_id = config["env_id"].rpartition(":")[2]
    return f"{env_id} ({given})" if given else env_id


def is_control(result: dict[str, Any]) -> bool:
    """Whether nothing was asked of it: it shows how something else compares."""
    return result.get("criterion") == "none"


def report(result: dict[str, Any]) -> str:
    """A learning result as a table, its verdict and its circumstances."""
    sides = {result["algorithm"]: result["runs"]}
    if "reference" in result:
        of = result["reference"]
        sides[f"{of['library']} {of['algorithm']}"] = of["runs"]
    header = ["side", "seed", "final return", "std", "min", "max", "seconds"]
    rows = [[side, *_row(run)] for side, runs in sides.items() for run in runs]
    lines = [results.table(header, rows), ""]
    for side, runs in sides.items():
        returns = final_returns(runs)
        mean, worst = statistics.mean(returns), min(returns)
        lines.append(f"{side}: mean {mean:.4g}, worst {worst:.4g}")
    held = "holds" if result["holds"] else "DOES NOT HOLD"
    lines.append(f"{result['criterion']}: {result['passed']}, {held}")
    return "\n".join([*lines, results.footer(result)])


def _row(run: dict[str, Any]) -> list[str]:
    names = ("", "_std", "_min", "_max")
    numbers = [f"{run['final'][f'episode_return{name}']:.4g}" for name in names]
    return [str(run["seed"]), *numbers, f"{run['train_seconds']:.0f}"]
