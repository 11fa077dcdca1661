"""Where the time of PPO goes in worlds of tensors, eager and compiled.

An eager trainer and a compiled one take turns, rollout by rollout.
"""

import statistics
import time
from collections.abc import Iterator
from typing import Any

from yieldrl.algorithms import ppo
from yieldrl.benchmarks import figure
from yieldrl.benchmarks.style import bars

SAYS = figure.said("time-ppo", __doc__)
FIELDS: dict[str, Any] = {"env_id": "yieldrl/CartPole-v1", "num_envs": 1024}
FIELDS |= {"num_steps": 32, "num_epochs": 4, "num_minibatches": 4}
FIELDS |= {"anneal_learning_rate": False, "total_steps": 1_000_000_000}
FIELDS |= {"eval_every": 0, "device": "cpu", "threads": 1}
SIDES = ("eager", "compiled")
CALLS = {"acting": "collector.agent.sample", "worlds": "collector.stepper.step"}
CALLS |= {"storing": "buffer.add", "looking": "algorithm.prepare"}
CALLS |= {"steps": "algorithm.minimize"}
PARTS = (*CALLS, "rest")


def measure(seed: int, count: int = 10, **fields: Any) -> dict[str, Any]:
    """Rollouts of all sides in turns, even ones in the reverse order, after one that
    compiles."""
    found: dict[str, Any] = {side: [] for side in SIDES}
    both = {side: rollouts(side, **FIELDS | fields, seed=seed) for side in SIDES}
    for turn in range(count + 1):
        for side in SIDES if turn % 2 else reversed(SIDES):
            found[side].append(next(both[side]))
    return {"seed": seed, **{side: of[1:] for side, of in found.items()}}


def rollouts(side: str, **fields: Any) -> Iterator[dict[str, float]]:
    """Milliseconds of each part, of one rollout after another and of learning."""
    trainer = ppo.Trainer(ppo.Config(**fields, compile=side == "compiled"))
    seconds, loop = figure.timed(trainer, CALLS), trainer()
    while True:
        seconds.clear()
        begin = time.perf_counter()
        end = trainer.agent.sample_step + trainer.config.batch_size
        while trainer.agent.sample_step < end or len(trainer.buffer) > 0:
            next(loop)
        seconds["rest"] = time.perf_counter() - begin - sum(seconds.values())
        yield {part: round(1e3 * seconds[part], 3) for part in PARTS}


def parts_of(runs: figure.Runs, side: str) -> dict[str, float]:
    """Milliseconds of each part of a side: medians over all rollouts."""
    of = [found for run in runs for found in run[side]]
    return {part: statistics.median(x[part] for x in of) for part in PARTS}


def whole_of(runs: figure.Runs, side: str) -> float:
    return statistics.median(sum(x.values()) for run in runs for x in run[side])


def table(runs: figure.Runs) -> figure.Table:
    rows: list[list[str]] = []
    for side in SIDES:
        whole, parts = whole_of(runs, side), parts_of(runs, side).values()
        all_of_it = f"{whole:.0f}", f"{1e3 * 1024 * 32 / whole:,.0f}"
        rows.append([side, *(f"{value:.1f}" for value in parts), *all_of_it])
    return ["ms", *PARTS, "all", "steps/s"], rows


def draw(axes: Any, runs: figure.Runs) -> None:
    bars(axes, {side: parts_of(runs, side) for side in SIDES})
    axes.set(title="A rollout of 1,024 x 32", xlabel="milliseconds")


if __name__ == "__main__":
    figure.main(SAYS, measure, table, draw, one_at_a_time=True)
