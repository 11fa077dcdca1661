"""What collecting in the background gains where acting waits for something else.

Sleeps stand for a policy on another machine and for the update: collecting for `c`
seconds and learning for `l` take `c + l` in turn, and at best the longer side by side.
"""

import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import ppo
from yieldrl.benchmarks.claim import Run, constants, values
from yieldrl.benchmarks.style import COLORS, INK

STEP_SECONDS = 0.1  # of an action
STEPS = 4  # of a rollout
UPDATES = 20  # of every run; the first rollout has no update to lie beside
SETTINGS = {"step_seconds": STEP_SECONDS, "steps": STEPS, "updates": UPDATES}
RATIOS, FIELDS = constants("collecting/overlap", "RATIOS", "FIELDS")

CASES = [{"ratio": ratio} for ratio in RATIOS]
SIDES = ("sync", "async")


class Elsewhere(ppo.Model):
    """A policy for which this process waits."""

    def sample(
        self, obs: Any, generator: torch.Generator, *, record: bool = False
    ) -> tuple[Tensor, dict[str, Tensor]]:
        time.sleep(STEP_SECONDS)
        return super().sample(obs, generator, record=record)


class Slow(ppo.Algorithm):
    """PPO whose gradient steps take some seconds more."""

    seconds = 0.0

    def learn(self, data: TensorDict) -> Logs:
        time.sleep(self.seconds)
        return super().learn(data)


class Trainer(ppo.Trainer):
    model_class = Elsewhere
    algorithm_class = Slow


def pair(ratio: str, seed: int) -> dict[str, Any]:
    """Seconds from the first step to the last update, in turn and side by side; odd
    seeds begin with the synchronous side."""
    collecting = STEPS * STEP_SECONDS
    learning = collecting / RATIOS[ratio]
    taken = {"ratio": ratio, "seed": seed, "collecting": collecting}
    taken["learning"] = learning
    for side in SIDES if seed % 2 else reversed(SIDES):
        taken[side] = round(seconds(side, learning, seed), 3)
    return taken


def seconds(side: Any, learning: float, seed: int) -> float:
    """Seconds that a side takes for `UPDATES` updates of `learning` seconds."""
    steps = {"num_steps": STEPS, "total_steps": STEPS * UPDATES}
    config = ppo.Config(**FIELDS, **steps, seed=seed, collection=side)
    with Trainer(config) as trainer:
        trainer.algorithm.seconds = learning
        begin = time.perf_counter()
        with closing(trainer()) as loop:
            while trainer.agent.learn_step < UPDATES:
                next(loop)
            return time.perf_counter() - begin


def gains(runs: Sequence[Run], ratio: str) -> list[float]:
    """How many times as fast as in turn, of every pair of a ratio."""
    return [run["sync"] / run["async"] for run in runs if run["ratio"] == ratio]


def limit(ratio: float) -> float:
    """`(c + l) / max(c, l)`, which no pair can exceed for long."""
    return (ratio + 1) / max(ratio, 1)


def best(runs: Sequence[Run]) -> float:
    """The limit of the ratio that runs have."""
    return limit(RATIOS[runs[0]["ratio"]])


def draw(axes: Any, runs: Sequence[Run]) -> None:
    curve = [2 ** (i / 20) for i in range(-45, 46)]
    label = "(c + l) / max(c, l)"
    axes.plot(curve, [limit(x) for x in curve], color=INK, label=label)
    points = [(RATIOS[r], gain) for r in RATIOS for gain in gains(runs, r)]
    label = f"measured, {len(values(runs, 'seed', ratio='1:1'))} pairs each"
    axes.plot(*zip(*points, strict=True), "o", color=COLORS[0], label=label, alpha=0.6)
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(RATIOS.values()), list(RATIOS))
