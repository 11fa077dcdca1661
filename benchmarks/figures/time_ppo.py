"""Where the time of PPO goes, and what compiling takes off it: an eager trainer and a
compiled one take turns, rollout by rollout."""

import statistics
import time
from collections import defaultdict
from contextlib import ExitStack, closing
from typing import Any

from yieldrl.algorithms import ppo
from yieldrl.benchmarks import figure
from yieldrl.benchmarks.style import bars

SAYS = {
    "time-ppo": (
        "Where the time of PPO goes in worlds of tensors, eager and compiled."
    ),
}
FIELDS: dict[str, Any] = {"env_id": "yieldrl/CartPole-v1", "num_envs": 1024}
FIELDS |= {"num_steps": 32, "num_epochs": 4, "num_minibatches": 4}
FIELDS |= {"anneal_learning_rate": False, "total_steps": 1_000_000_000}
FIELDS |= {"eval_every": 0, "device": "cpu", "threads": 1}
SIDES = {"eager": "eager", "compiled": "compiled"}
PARTS = ("acting", "worlds", "storing", "looking", "cutting", "steps", "rest")


def trainer_of(side: str, seed: int, **fields: Any) -> ppo.Trainer:
    fields |= {"compile": side == "compiled"}
    return ppo.Trainer(ppo.Config(**FIELDS | fields, seed=seed))


class Watch:
    """Adds up the seconds that the parts of a trainer take."""

    def __init__(self, trainer: ppo.Trainer) -> None:
        self.trainer = trainer
        self.seconds: defaultdict[str, float] = defaultdict(float)
        algorithm, collector = trainer.agent.algorithm, trainer.collector
        for owner, name, part in (
            (collector.agent, "sample", "acting"),
            (collector.stepper, "step", "worlds"),
            (trainer.buffer, "add", "storing"),
            (algorithm, "prepare", "looking"),
            (algorithm, "update", "cutting"),
            (algorithm, "minimize", "steps"),
        ):
            setattr(owner, name, self.timed(getattr(owner, name), part))

    def timed(self, function: Any, part: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            begin = time.perf_counter()
            answer = function(*args, **kwargs)
            self.seconds[part] += time.perf_counter() - begin
            return answer

        return call

    def rollout(self) -> dict[str, float]:
        """Milliseconds of each part, of one rollout and learning from it."""
        self.seconds.clear()
        trainer, begin = self.trainer, time.perf_counter()
        end = trainer.agent.sample_step + trainer.config.batch_size
        with closing(trainer()) as loop:
            while trainer.agent.sample_step < end or len(trainer.buffer) > 0:
                next(loop)
        whole, seconds = time.perf_counter() - begin, self.seconds
        seconds["cutting"] -= seconds["steps"]  # which are taken on the way
        seconds["rest"] = whole - sum(seconds.values())
        return {part: round(1e3 * seconds[part], 3) for part in PARTS}


def measure(seed: int, rollouts: int = 10, **fields: Any) -> dict[str, Any]:
    """Rollouts of all sides in turns, even ones in the reverse order, after one that
    compiles."""
    found: dict[str, Any] = {side: [] for side in SIDES}
    with ExitStack() as stack:
        trainers = {side: trainer_of(side, seed, **fields) for side in SIDES}
        watches = {s: Watch(stack.enter_context(of)) for s, of in trainers.items()}
        for turn in range(rollouts + 1):
            for side in SIDES if turn % 2 else reversed(SIDES):
                found[side].append(watches[side].rollout())
    return {"seed": seed, **{side: of[1:] for side, of in found.items()}}


def parts_of(runs: figure.Runs, side: str) -> dict[str, float]:
    """Milliseconds of each part of a side: medians over all rollouts."""
    rollouts = [found for run in runs for found in run[side]]
    return {part: statistics.median(x[part] for x in rollouts) for part in PARTS}


def whole_of(runs: figure.Runs, side: str) -> float:
    return statistics.median(sum(x.values()) for run in runs for x in run[side])


def table(runs: figure.Runs) -> figure.Table:
    rows: list[list[str]] = []
    for side, words in SIDES.items():
        whole, parts = whole_of(runs, side), parts_of(runs, side)
        row = [words, *(f"{value:.1f}" for value in parts.values()), f"{whole:.0f}"]
        rows.append([*row, f"{1e3 * 1024 * 32 / whole:,.0f}"])
    return ["ms", *PARTS, "all", "steps/s"], rows


def draw(axes: Any, runs: figure.Runs) -> None:
    bars(axes, {words: parts_of(runs, side) for side, words in SIDES.items()})
    axes.set(title="A rollout of 1,024 x 32", xlabel="milliseconds")


if __name__ == "__main__":
    figure.main(SAYS, measure, table, draw, one_at_a_time=True)
