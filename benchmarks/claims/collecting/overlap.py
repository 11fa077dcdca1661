"""What collecting in the background gains where acting waits for something else.

Sleeps stand for a policy on another machine and for the update: collecting for `c`
seconds and learning for `l` take `c + l` in turn, and at best the longer side by side.
"""

import statistics
import time
from contextlib import closing
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import ppo
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import median, some, values
from yieldrl.benchmarks.style import COLORS, INK
from yieldrl.benchmarks.trial import Runs, Table, Trial, at_least

STEP_SECONDS = 0.1  # of an action
STEPS = 4  # of a rollout
UPDATES = 20  # of every run; the first rollout has no update to lie beside
RATIOS = {"1:4": 0.25, "1:2": 0.5, "1:1": 1.0, "2:1": 2.0, "4:1": 4.0}
FIELDS: dict[str, Any] = {
    "num_envs": 1,
    "num_epochs": 1,
    "num_minibatches": 1,
    "eval_every": 0,
    "device": "cpu",
}

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


def gains(runs: Runs, ratio: str) -> list[float]:
    """How many times as fast as in turn, of every pair of a ratio."""
    return [run["sync"] / run["async"] for run in runs if run["ratio"] == ratio]


def limit(ratio: float) -> float:
    """`(c + l) / max(c, l)`, which no pair can exceed for long."""
    return (ratio + 1) / max(ratio, 1)


def table(runs: Runs) -> Table:
    rows: list[list[str]] = []
    for ratio, number in RATIOS.items():
        of, found = some(runs, ratio=ratio), gains(runs, ratio)
        row = [ratio, *(f"{median(of, side):.2f}" for side in SIDES)]
        ends = f"{min(found):.3f} to {max(found):.3f}"
        rows.append([*row, f"{statistics.median(found):.3f}", ends])
        rows[-1].append(f"{limit(number):.3f}")
    header = ["collecting : learning", "seconds, sync", "seconds, async"]
    return [*header, "times as fast", "pairs", "limit"], rows


def draw(axes: Any, runs: Runs) -> None:
    curve = [2 ** (i / 20) for i in range(-45, 46)]
    label = "(c + l) / max(c, l)"
    axes.plot(curve, [limit(x) for x in curve], color=INK, label=label)
    points = [(RATIOS[r], gain) for r in RATIOS for gain in gains(runs, r)]
    label = f"measured, {len(values(runs, 'seed', ratio='1:1'))} pairs each"
    axes.plot(*zip(*points, strict=True), "o", color=COLORS[0], label=label, alpha=0.6)
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(RATIOS.values()), list(RATIOS))


CLAIMS = [
    Trial(
        name="collecting-overlap",
        statement=(
            "Where acting waits for something else, learning costs no time of its own:"
            " side by side the two take as long as the longer of them."
        ),
        settings={"step_seconds": STEP_SECONDS, "steps": STEPS, "updates": UPDATES},
        run=pair,
        cases=[{"ratio": ratio} for ratio in RATIOS],
        table=table,
        judge=lambda runs: [  # where both take as long
            at_least(
                "1:1, times as fast as in turn",
                statistics.median(gains(runs, "1:1")),
                1.8,
            )
        ],
        draw=draw,
        axes={
            "title": "Wall time to the same number of updates, in turn / side by side",
            "xlabel": "collecting : learning",
            "ylabel": "times as fast",
        },
    )
]


if __name__ == "__main__":
    main(CLAIMS)
