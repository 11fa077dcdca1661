"""Learning: does an algorithm with its default config learn, on how many seeds?

Every seed trains in a fresh process and is then evaluated with deterministic actions.
A task states beforehand what counts as learned; the result says whether it held.
"""

from __future__ import annotations

import dataclasses
import importlib
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from . import isolated, results


@dataclass(frozen=True, kw_only=True)
class Task:
    """What to train, and what counts as learned."""

    algorithm: str
    """Name of the folder below `algorithms`."""

    config: dict[str, Any]
    """Fields that differ from the algorithm's defaults, without the seed."""

    threshold: float
    """The final evaluation's mean return at which a seed has learned."""

    share: float = 0.9
    """Share of the seeds that must have."""

    def holds(self, returns: Sequence[float]) -> bool:
        """Whether enough of these final returns reach the threshold."""
        return self.passed(returns) >= self.needed(len(returns))

    def passed(self, returns: Sequence[float]) -> int:
        """How many of these returns reach the threshold."""
        return sum(value >= self.threshold for value in returns)

    def needed(self, seeds: int) -> int:
        """How many of so many seeds must reach the threshold."""
        return round(self.share * seeds)


TASKS = {
    "ppo-cartpole": Task(
        algorithm="ppo",
        config={"env_id": "CartPole-v1", "total_steps": 100_000},
        threshold=475.0,
    ),
    "dqn-cartpole": Task(
        algorithm="dqn",
        config={"env_id": "CartPole-v1", "total_steps": 150_000},
        threshold=475.0,
        share=0.8,
    ),
    "ppo-pendulum": Task(
        algorithm="ppo",
        config={"env_id": "Pendulum-v1", "total_steps": 300_000},
        threshold=-250.0,
    ),
}


def train_seed(name: str, seed: int, episodes: int) -> dict[str, Any]:
    """Train and evaluate one seed, in this process.

    Args:
        name: Key of `TASKS`.
        seed: The seed of everything.
        episodes: Episodes of the final evaluation.

    Returns:
        The whole config, the evaluations during training (`curve`), the final one,
        and the seconds that training took.
    """
    task = TASKS[name]
    algorithm = importlib.import_module(f"yieldrl.algorithms.{task.algorithm}")
    config = algorithm.Config(**task.config, seed=seed)
    curve: list[dict[str, float]] = []
    begin = time.perf_counter()
    with algorithm.Trainer(config) as trainer:
        for log in trainer():
            if log["log_type"] == "evaluate":
                curve.append({"sample_step": log["sample_step"], **_floats(log)})
        seconds = time.perf_counter() - begin
        final = _floats(trainer.evaluate(episodes))
    return {
        "seed": seed,
        "config": config.to_dict(),
        "curve": curve,
        "final": final,
        "train_seconds": round(seconds, 2),
    }


def benchmark(
    name: str, command: str, *, seeds: int, episodes: int, jobs: int
) -> dict[str, Any]:
    """Train a task on seeds 1 to `seeds`, `jobs` at a time."""
    task, numbers = TASKS[name], range(1, seeds + 1)
    result = results.circumstances("learning", command, numbers)
    train = partial(isolated.call, train_seed, 1, name=name, episodes=episodes)
    with ThreadPoolExecutor(jobs) as pool:
        runs = list(pool.map(lambda seed: train(seed=seed), numbers))
    returns = [run["final"]["episode_return"] for run in runs]
    configs = [run.pop("config") for run in runs]
    criterion = (
        f"episode_return >= {task.threshold:g} over {episodes} deterministic episodes"
        f" on at least {task.needed(seeds)} of {seeds} seeds"
    )
    return result | {
        "task": name,
        **dataclasses.asdict(task),
        "whole_config": {k: v for k, v in configs[0].items() if k != "seed"},
        "jobs": jobs,
        "criterion": criterion,
        "passed": task.passed(returns),
        "holds": task.holds(returns),
        "runs": runs,
    }


def report(result: dict[str, Any]) -> str:
    """A learning result as a table, its verdict and its circumstances."""
    rows = [_row(run) for run in result["runs"]]
    header = ["seed", "final return", "std", "min", "max", "seconds"]
    returns = [run["final"]["episode_return"] for run in result["runs"]]
    verdict = "holds" if result["holds"] else "DOES NOT HOLD"
    return (
        f"{results.table(header, rows)}\n\n"
        f"mean {statistics.mean(returns):.1f}, worst {min(returns):.1f};"
        f" {result['criterion']}: {result['passed']}, {verdict}\n"
        f"{results.footer(result)}"
    )


def _row(run: dict[str, Any]) -> list[str]:
    names = ("", "_std", "_min", "_max")
    numbers = [f"{run['final'][f'episode_return{name}']:.1f}" for name in names]
    return [str(run["seed"]), *numbers, f"{run['train_seconds']:.0f}"]


def _floats(log: Any) -> dict[str, float]:
    return {name: float(value) for name, value in log["logs"].items()}
