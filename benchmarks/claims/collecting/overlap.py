"""What collecting in the background gains where acting waits for something else.

The policy of `Elsewhere` is computed by another machine: here a sleep stands for it,
and another one for the update. Then collecting for `c` seconds and learning for `l`
take `c + l` in turn, and at best the longer of them side by side.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import ppo
from yieldrl.benchmarks.claim import Run, Table, Verdict, at_least, median, values
from yieldrl.benchmarks.style import COLORS, INK

STEP_SECONDS = 0.1  # of an action
STEPS = 4  # of a rollout
UPDATES = 20  # of every run; the first rollout has no update to lie beside
SETTINGS = {"step_seconds": STEP_SECONDS, "steps": STEPS, "updates": UPDATES}
RATIOS = {"1:4": 0.25, "1:2": 0.5, "1:1": 1.0, "2:1": 2.0, "4:1": 4.0}
"""Of collecting to learning."""

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
    """PPO with both."""

    model_class = Elsewhere
    algorithm_class = Slow


def pair(ratio: str, seed: int) -> dict[str, Any]:
    """Seconds from the first step to the last update, in turn and side by side.

    Args:
        ratio: Key of `RATIOS`.
        seed: The seed of everything; odd ones begin with the synchronous side.
    """
    collecting = STEPS * STEP_SECONDS
    learning = collecting / RATIOS[ratio]
    taken = {"ratio": ratio, "seed": seed, "collecting": collecting}
    taken["learning"] = learning
    for side in SIDES if seed % 2 else reversed(SIDES):
        taken[side] = round(seconds(side, learning, seed), 3)
    return taken


def seconds(side: Any, learning: float, seed: int) -> float:
    """Seconds that a side takes for `UPDATES` updates of `learning` seconds."""
    config = ppo.Config(
        num_envs=1,
        num_steps=STEPS,
        num_epochs=1,
        num_minibatches=1,
        total_steps=STEPS * UPDATES,
        eval_every=0,
        device="cpu",
        seed=seed,
        collection=side,
    )
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


def judge(runs: Sequence[Run]) -> list[Verdict]:
    """Where both take as long."""
    gain = statistics.median(gains(runs, "1:1"))
    return [at_least("1:1, times as fast as in turn", gain, 1.8)]


def table(runs: Sequence[Run]) -> Table:
    """Medians of every ratio."""
    rows: list[list[str]] = []
    for ratio, value in RATIOS.items():
        gained = gains(runs, ratio)
        row = [ratio, *(f"{median(runs, side, ratio=ratio):.2f}" for side in SIDES)]
        row.append(f"{statistics.median(gained):.3f}")
        row.append(f"{min(gained):.3f} to {max(gained):.3f}")
        rows.append([*row, f"{limit(value):.3f}"])
    header = ["collecting : learning", "seconds, sync", "seconds, async"]
    return [*header, "times as fast", "pairs", "limit"], rows


def draw(axes: Any, runs: Sequence[Run]) -> None:
    """Every pair on the curve of the limit."""
    curve = [2 ** (i / 20) for i in range(-45, 46)]
    label = "(c + l) / max(c, l)"
    axes.plot(curve, [limit(x) for x in curve], color=INK, label=label)
    points = [(RATIOS[r], gain) for r in RATIOS for gain in gains(runs, r)]
    label = f"measured, {len(values(runs, 'seed', ratio='1:1'))} pairs each"
    axes.plot(*zip(*points, strict=True), "o", color=COLORS[0], label=label, alpha=0.6)
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(RATIOS.values()), list(RATIOS))
