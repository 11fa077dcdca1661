"""Tuned files for a robot's task, seed by seed, judged in 100 episodes at the end."""

import importlib
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from yieldrl.algorithms import behavior_cloning
from yieldrl.benchmarks.claim import Run
from yieldrl.benchmarks.style import COLORS, line
from yieldrl.benchmarks.tasks import make_config
from yieldrl.experiments.plot import aggregate

EPISODES = 100


def settings(algorithm: str, tuned: str, **arguments: Any) -> dict[str, Any]:
    return {"algorithm": algorithm, "tuned": tuned, "episodes": EPISODES}


def train(
    seed: int, algorithm: str, tuned: str, shown: str, clones: bool = False
) -> dict[str, Any]:
    """Train one seed with the tuned file's settings, and evaluate it.

    `first` is how well it does before: untrained or, if it `clones` the task's expert
    by behaviour cloning's file of the same name, cloned. `shown` is the metric drawn.
    """
    began = time.process_time()
    model = {"model": _cloned(tuned, seed)} if clones else {}
    cloning = time.process_time() - began
    trainer_class = importlib.import_module(f"yieldrl.algorithms.{algorithm}").Trainer
    config = make_config(algorithm, tuned, {"seed": seed})
    with trainer_class(config, **model) as trainer:
        first = _found(trainer.evaluate(EPISODES))
        curve = [{"sample_step": 0, **first}]
        begin, began = time.perf_counter(), time.process_time()
        for log in trainer():
            if log["log_type"] == "evaluate":
                curve.append({"sample_step": log["sample_step"], **_found(log)})
        processor, seconds = time.process_time() - began, time.perf_counter() - begin
        final = _found(trainer.evaluate(EPISODES))
    return {
        "seed": seed,
        "algorithm": algorithm,
        "shown": shown,
        "first": first,
        "curve": curve,
        "final": final,
        "cloning_seconds": round(cloning, 2),
        "processor_seconds": round(processor, 2),
        "train_seconds": round(seconds, 1),
    }


def draw(axes: Any, runs: Sequence[Run]) -> None:
    points = [
        (
            np.array([point["sample_step"] for point in run["curve"]]),
            np.array([point[run["shown"]] for point in run["curve"]]),
        )
        for run in runs
    ]
    line(
        axes, aggregate(f"{runs[0]['algorithm']}, {len(runs)} seeds", points), COLORS[0]
    )


def _cloned(tuned: str, seed: int) -> Any:
    """A policy that does as the task's expert, not quite."""
    config = make_config("behavior_cloning", tuned, {"seed": seed})
    with behavior_cloning.Trainer(config) as trainer:
        for _ in trainer():
            pass
    return trainer.model


def _found(log: Any) -> dict[str, float]:
    names = ("success_rate", "episode_return", "episode_length")
    return {name: round(float(log["logs"][name]), 4) for name in names}
