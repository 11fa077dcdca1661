"""From one weak clone, with imagined rollouts beside the real ones and without."""

import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from yieldrl.algorithms import grpo_imagined, ppo_imagined, vla_grpo, vla_ppo
from yieldrl.benchmarks.claim import Run, constants
from yieldrl.benchmarks.style import COLORS, line
from yieldrl.experiments.plot import aggregate

WORLD, REAL, IMAGINED = constants("imagination/goto", "WORLD", "REAL", "IMAGINED")
SETTINGS = {**WORLD, "real": REAL, "imagined": IMAGINED}
SIDES: dict[str, tuple[Any, dict[str, Any]]]
SIDES = {
    "vla_grpo": (vla_grpo, REAL),
    "grpo_imagined": (grpo_imagined, IMAGINED),
    "grpo_imagined, one stage": (grpo_imagined, {**IMAGINED, "stages": 1}),
    "vla_ppo": (vla_ppo, REAL),
    "ppo_imagined": (ppo_imagined, IMAGINED),
}
CASES = [{"side": side} for side in SIDES]
MODEL = ("model/error_1_step", "model/error_4_steps", "model/end_recall")
MODEL += ("model/end_calibration", "imagined/return", "imagined/real_return")


def train(side: str, seed: int) -> dict[str, Any]:
    return improved(side, *SIDES[side], seed=seed)


def improved(side: str, module: Any, options: Any, *, seed: int) -> dict[str, Any]:
    """`curve` has rows of environment step, success rate and CPU seconds of this
    process but for evaluations; `model` what was logged of the model by then. Gradient
    steps are the policy's after cloning, and the model's by itself or beside it."""
    curve: list[tuple[float, ...]] = []
    model: list[dict[str, float]] = []
    logged: dict[str, float] = {}
    seconds = 0.0
    with module.Trainer(module.Config(**WORLD, **options, seed=seed)) as trainer:
        begin = time.process_time()
        for log in trainer():
            now = time.process_time()
            if log["log_type"] == "evaluate":
                success = round(float(log["logs"]["success_rate"]), 4)
                curve.append((log["sample_step"], success, round(seconds, 1)))
                model.append({**logged})
            else:
                seconds += now - begin
            logged |= {
                k: round(float(v), 4) for k, v in log["logs"].items() if k in MODEL
            }
            begin = time.process_time()
        world = getattr(trainer.algorithm, "world", None)
        steps = {"policy": trainer.agent.learn_step - WORLD["clone_steps"]}
        steps["model"] = 0 if world is None else int(world.version)
    ends = {"first": curve[0], "last": curve[-1]}
    names = "step", "success", "seconds"
    found = {k: dict(zip(names, row, strict=True)) for k, row in ends.items()}
    found["gradient_steps"] = steps
    return {"side": side, "seed": seed, **found, "curve": curve, "model": model}


def draw(axes: Any, runs: Sequence[Run]) -> None:
    curves(axes, runs, SIDES)


def curves(axes: Any, runs: Sequence[Run], sides: Iterable[str]) -> None:
    """A line for each side."""
    for color, side in zip(COLORS, sides, strict=False):
        own = [np.array(run["curve"]).T for run in runs if run["side"] == side]
        points = [(rows[0], rows[1]) for rows in own]
        line(axes, aggregate(f"{side}, {len(own)} seeds", points), color)
