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
from typing import TYPE_CHECKING, Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import ppo
from yieldrl.benchmarks.style import COLORS, INK

from .trial import Options, Run, Table, Trial, Verdict, at_least, each

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STEP_SECONDS = 0.1
"""What an action takes."""

STEPS = 4
"""Of a rollout."""

RATIOS = {"1:4": 0.25, "1:2": 0.5, "1:1": 1.0, "2:1": 2.0, "4:1": 4.0}
"""Of collecting to learning."""

UPDATES = 20
"""Of every run. The first rollout has no update to lie beside."""

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


def measure(options: Options) -> list[dict[str, Any]]:
    """A pair of every ratio and seed."""
    seeds = range(1, options.seeds + 1)
    cases = [{"ratio": ratio, "seed": seed} for seed in seeds for ratio in RATIOS]
    return each(pair, cases, options.jobs)


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
    header = ["collecting : learning", "seconds, sync", "seconds, async"]
    rows: list[list[str]] = []
    for ratio, value in RATIOS.items():
        of = [run for run in runs if run["ratio"] == ratio]
        medians = [statistics.median(run[side] for run in of) for side in SIDES]
        gained = gains(runs, ratio)
        row = [ratio, *(f"{median:.2f}" for median in medians)]
        row.append(f"{statistics.median(gained):.3f}")
        row.append(f"{min(gained):.3f} to {max(gained):.3f}")
        rows.append([*row, f"{limit(value):.3f}"])
    return [*header, "times as fast", "pairs", "limit"], rows


def fill(axes: Axes, runs: Sequence[Run]) -> None:
    """Every pair on the curve of the limit."""
    curve = [2 ** (i / 20) for i in range(-45, 46)]
    label = "(c + l) / max(c, l)"
    axes.plot(curve, [limit(x) for x in curve], color=INK, label=label)
    points = [(RATIOS[r], gain) for r in RATIOS for gain in gains(runs, r)]
    label = f"measured, {len(points) // len(RATIOS)} pairs each"
    axes.plot(*zip(*points, strict=True), "o", color=COLORS[0], label=label, alpha=0.6)
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(RATIOS.values()), list(RATIOS))
    axes.set_title("Wall time to the same number of updates, in turn / side by side")
    axes.set_xlabel("collecting : learning")
    axes.set_ylabel("times as fast")


TRIAL = Trial(
    statement="Where acting waits for something else, learning costs no time of its"
    " own: side by side the two take as long as the longer of them.",
    measure=measure,
    judge=judge,
    table=table,
    fill=fill,
    settings={"step_seconds": STEP_SECONDS, "steps": STEPS, "updates": UPDATES},
)
