"""What is learned from a collector in the background, with each correction.

The policy that collects is up to an update older than the one that learns. Everything
else is as in the synchronous run that it stands beside, the environment steps too.
"""

from __future__ import annotations

import dataclasses
import importlib
import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from yieldrl.algorithms import appo, gipo, ppo
from yieldrl.benchmarks.claim import Run, Table, Verdict, at_most, mean, values
from yieldrl.benchmarks.style import COLORS, INK, line
from yieldrl.benchmarks.tasks import TASKS
from yieldrl.experiments.plot import aggregate

CORRECTIONS = ("none", "clip", "gipo", "vtrace")

SIDES = ("sync", *CORRECTIONS)
"""Synchronous, as PPO is, and in the background with each correction."""

CASES = [{"side": side} for side in SIDES]

STEPS = {"ppo-cartpole": 60_000, "ppo-pendulum": 200_000, "ppo_lstm-tmaze": 100_000}
"""Task -> environment steps of all sides, in which the synchronous one has learned."""

EPISODES = 20  # of the final evaluation

WITHIN = 0.05
"""Share of the synchronous return by which the best correction may be lower."""


def settings(task: str) -> dict[str, Any]:
    """What all runs of a task have in common."""
    return {"task": task, "total_steps": STEPS[task], "episodes": EPISODES}


def train(task: str, side: str, seed: int) -> dict[str, Any]:
    """Train and evaluate one seed of one side, in this process.

    Returns:
        `curve`, pairs of environment step and mean return; `final`, the mean return of
        the final evaluation; `policy_lag`, the mean over training (0 where it is
        synchronous); and the seconds that training took.
    """
    config = dataclasses.replace(
        TASKS[task].make_config(seed),
        total_steps=STEPS[task],
        eval_every=STEPS[task] // 10,
        device="cpu",
        collection="sync" if side == "sync" else "async",
    )
    algorithm = importlib.import_module(f"yieldrl.algorithms.{TASKS[task].algorithm}")
    with trainer_of(algorithm, config, side) as trainer:
        return {"side": side, "seed": seed, **learned(trainer)}


class Uncorrected(appo.Algorithm):
    """Takes the actions of an older policy for those of the policy of now."""

    advantage = ppo.Algorithm.advantage


def trainer_of(algorithm: Any, config: Any, side: str) -> Any:
    """A trainer of an algorithm of PPO's family, with a correction.

    Args:
        algorithm: The package.
        config: Its config.
        side: One of `SIDES`; `sync` and `clip` are the algorithm itself.
    """
    kinds = {"none": Uncorrected, "gipo": gipo.Algorithm, "vtrace": appo.Algorithm}
    if side not in kinds:
        return algorithm.Trainer(config)
    bases = gipo.Config, type(config)
    mixed = dataclasses.make_dataclass(
        "Config", [], bases=bases, frozen=True, kw_only=True
    )
    parts = {
        "algorithm_class": type("Algorithm", (kinds[side], algorithm.Algorithm), {}),
        "config_class": mixed,
    }
    trainer = type("Trainer", (algorithm.Trainer,), parts)
    return trainer(mixed.from_dict(config.to_dict()))


def learned(trainer: Any) -> dict[str, Any]:
    """Train to the end; the results of that."""
    curve: list[tuple[int, float]] = []
    lags: list[float] = []
    begin = time.perf_counter()
    for log in trainer():
        logs = log["logs"]
        if log["log_type"] == "evaluate":
            curve.append((log["sample_step"], round(float(logs["episode_return"]), 4)))
        elif "policy_lag" in logs:
            lags.append(float(logs["policy_lag"]))
    taken = time.perf_counter() - begin
    final = float(trainer.evaluate(EPISODES)["logs"]["episode_return"])
    return {
        "final": round(final, 4),
        "policy_lag": round(statistics.mean(lags), 3) if lags else 0.0,
        "seconds": round(taken, 1),
        "curve": curve,
    }


def judge(runs: Sequence[Run]) -> list[Verdict]:
    """How far the best correction's mean is below that of the synchronous side.

    Which one is best is known only afterwards: the table has all of them.
    """
    means = {side: mean(runs, "final", side=side) for side in SIDES}
    best = max(CORRECTIONS, key=lambda side: means[side])
    share = (means["sync"] - means[best]) / abs(means["sync"])
    demand = f"share by which the best, {best}, returns less than synchronous"
    return [at_most(demand, share, WITHIN)]


def table(runs: Sequence[Run]) -> Table:
    """Final returns of every side, and over all of training."""
    rows: list[list[str]] = []
    for side in SIDES:
        finals = values(runs, "final", side=side)
        curves = values(runs, "curve", side=side)
        along = statistics.mean(y for curve in curves for _, y in curve)
        row = [named(side), f"{statistics.mean(finals):.4g}"]
        row += [f"{min(finals):.4g} to {max(finals):.4g}", f"{along:.4g}"]
        row.append(f"{mean(runs, 'policy_lag', side=side):.2f}")
        rows.append([*row, f"{mean(runs, 'seconds', side=side):.0f}"])
    header = ["side", "mean return", "seeds", "during training", "policy lag", "s"]
    return header, rows


def draw(axes: Any, runs: Sequence[Run]) -> None:
    """Learning curves."""
    for color, side in zip((INK, *COLORS), SIDES, strict=False):
        points = [np.array(curve).T for curve in values(runs, "curve", side=side)]
        label = f"{named(side)}, {len(points)} seeds"
        line(axes, aggregate(label, [(xs, ys) for xs, ys in points]), color)


def named(side: str) -> str:
    """A side in words."""
    return "synchronous" if side == "sync" else f"async, {side}"
