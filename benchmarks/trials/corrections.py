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
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from yieldrl.benchmarks.style import COLORS, INK, line
from yieldrl.benchmarks.tasks import TASKS
from yieldrl.experiments.plot import aggregate

from .trial import Options, Run, Table, Trial, Verdict, at_most, each

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CORRECTIONS = ("none", "clip", "gipo", "vtrace")

SIDES = ("sync", *CORRECTIONS)
"""Synchronous, as PPO is, and in the background with each correction."""

STEPS = {"ppo-cartpole": 60_000, "ppo-pendulum": 200_000, "ppo_lstm-tmaze": 100_000}
"""Task -> environment steps of all sides, in which the synchronous one has learned."""

EPISODES = 20
"""Of the final evaluation."""

WITHIN = 0.05
"""Share of the synchronous return by which the best correction may be lower."""


def train(task: str, side: str, seed: int) -> dict[str, Any]:
    """Train and evaluate one seed of one side, in this process.

    Returns:
        `curve`, pairs of environment step and mean return; `final`, the mean return of
        the final evaluation; `policy_lag`, the mean over training (0 where it is
        synchronous); and the seconds that training took.
    """
    how = {} if side == "sync" else {"collection": "async", "correction": side}
    config = dataclasses.replace(
        TASKS[task].make_config(seed),
        total_steps=STEPS[task],
        eval_every=STEPS[task] // 10,
        device="cpu",
        **how,
    )
    algorithm = importlib.import_module(f"yieldrl.algorithms.{TASKS[task].algorithm}")
    with algorithm.Trainer(config) as trainer:
        return {"side": side, "seed": seed, **learned(trainer)}


def learned(trainer: Any) -> dict[str, Any]:
    """Train to the end, and say what came of it."""
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


def measure(task: str, options: Options) -> list[dict[str, Any]]:
    """Every side and seed of a task."""
    cases = [
        {"task": task, "side": side, "seed": seed}
        for seed in range(1, options.seeds + 1)
        for side in SIDES
    ]
    return each(train, cases, options.jobs)


def finals(runs: Sequence[Run], side: str) -> list[float]:
    """The final returns of a side, of every seed."""
    return [run["final"] for run in runs if run["side"] == side]


def judge(runs: Sequence[Run]) -> list[Verdict]:
    """How far the best correction's mean is below that of the synchronous side.

    Which one is best is known only afterwards: the table has all of them.
    """
    means = {side: statistics.mean(finals(runs, side)) for side in SIDES}
    best = max(CORRECTIONS, key=lambda side: means[side])
    share = (means["sync"] - means[best]) / abs(means["sync"])
    demand = f"share by which the best, {best}, returns less than synchronous"
    return [at_most(demand, share, WITHIN)]


def table(runs: Sequence[Run]) -> Table:
    """Final returns of every side, and over all of training."""
    header = ["side", "mean return", "seeds", "during training", "policy lag", "s"]
    rows: list[list[str]] = []
    for side in SIDES:
        of, returns = [run for run in runs if run["side"] == side], finals(runs, side)
        along = statistics.mean(y for run in of for _, y in run["curve"])
        lag = statistics.mean(run["policy_lag"] for run in of)
        taken = statistics.mean(run["seconds"] for run in of)
        row = [named(side), f"{statistics.mean(returns):.4g}"]
        row.append(f"{min(returns):.4g} to {max(returns):.4g}")
        rows.append([*row, f"{along:.4g}", f"{lag:.2f}", f"{taken:.0f}"])
    return header, rows


def fill(title: str, axes: Axes, runs: Sequence[Run]) -> None:
    """Learning curves."""
    for color, side in zip((INK, *COLORS), SIDES, strict=False):
        of = [run for run in runs if run["side"] == side]
        points = [np.array(run["curve"]).T for run in of]
        label = f"{named(side)}, {len(of)} seeds"
        line(axes, aggregate(label, [(xs, ys) for xs, ys in points]), color)
    axes.set_title(title)
    axes.set_xlabel("environment steps")
    axes.set_ylabel("return of deterministic episodes")


def named(side: str) -> str:
    """A side in words."""
    return "synchronous" if side == "sync" else f"async, {side}"


def _trial(task: str) -> Trial:
    algorithm, env_id = TASKS[task].algorithm, TASKS[task].config["env_id"]
    return Trial(
        statement=f"What {algorithm} returns on {env_id} after as many steps, collected"
        " in turn and, with each correction, in the background.",
        measure=partial(measure, task),
        judge=judge,
        table=table,
        fill=partial(fill, f"{algorithm} on {env_id}, collected in the background"),
        settings={"task": task, "total_steps": STEPS[task], "episodes": EPISODES},
    )


TRIALS = {f"corrections-{task.partition('-')[2]}": _trial(task) for task in STEPS}
