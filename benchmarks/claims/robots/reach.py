"""SAC in a task of Meta-World, seed by seed, judged by its success in 100 episodes."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from yieldrl.algorithms import sac
from yieldrl.benchmarks.claim import Run
from yieldrl.benchmarks.style import COLORS, line
from yieldrl.benchmarks.tasks import make_config
from yieldrl.experiments.plot import aggregate

TUNED = "reach"
EPISODES = 100
SETTINGS: dict[str, Any] = {"tuned": TUNED, "episodes": EPISODES}


def train(seed: int) -> dict[str, Any]:
    """Train one seed with the tuned file's settings, and evaluate it."""
    curve: list[dict[str, float]] = []
    begin, began = time.perf_counter(), time.process_time()
    with sac.Trainer(make_config("sac", TUNED, {"seed": seed})) as trainer:
        for log in trainer():
            if log["log_type"] == "evaluate":
                curve.append({"sample_step": log["sample_step"], **_found(log)})
        processor, seconds = time.process_time() - began, time.perf_counter() - begin
        final = _found(trainer.evaluate(EPISODES))
    return {
        "seed": seed,
        "curve": curve,
        "final": final,
        "processor_seconds": round(processor, 2),
        "train_seconds": round(seconds, 1),
    }


def draw(axes: Any, runs: Sequence[Run]) -> None:
    points = [
        (
            np.array([point["sample_step"] for point in run["curve"]]),
            np.array([point["success_rate"] for point in run["curve"]]),
        )
        for run in runs
    ]
    line(axes, aggregate(f"sac, {len(runs)} seeds", points), COLORS[0])


def _found(log: Any) -> dict[str, float]:
    names = ("success_rate", "episode_return", "episode_length")
    return {name: round(float(log["logs"][name]), 4) for name in names}
