"""Where the time of PPO goes, and what compiling takes off it: trainers with more and
more compiled functions take turns, rollout by rollout."""

import statistics
from collections import Counter
from contextlib import ExitStack
from typing import Any

from yieldrl.algorithms import ppo
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.style import bars
from yieldrl.benchmarks.timing import in_turns, learn_rollouts, time_method
from yieldrl.benchmarks.trial import Runs, Table, Trial, at_least
from yieldrl.collectors import FusedCollector

ROLLOUTS = 10  # of each side in a seed, after those that are not counted

FIELDS: dict[str, Any] = {
    "env_id": "yieldrl/CartPole-v1",
    "num_envs": 1024,
    "num_steps": 32,
    "num_epochs": 4,
    "num_minibatches": 4,
    "anneal_learning_rate": False,
    "total_steps": 1_000_000_000,
    "eval_every": 0,
    "device": "cpu",
    "threads": 1,
}
SIDES = {  # what is compiled; each has what those before it have
    "eager": "eager",
    "steps": "+ steps",
    "looking": "+ evaluation of rollouts",
    "acting": "+ acting",
    "whole": "+ whole",
}
PARTS = {
    "acting": "acting",
    "worlds": "worlds",
    "storing": "storing",
    "collecting": "collect",
    "looking": "evaluation",
    "cutting": "cutting",
    "steps": "steps",
    "rest": "rest",
}


def trainer_of(side: str, seed: int) -> ppo.Trainer:
    speed = "eager" if side == "eager" else "compile"
    trainer = ppo.Trainer(ppo.Config(**FIELDS, seed=seed, speed=speed))
    order = [*SIDES]
    assert isinstance(trainer.collector, FusedCollector)
    for name, call in (
        ("looking", trainer.agent.annotating),
        ("acting", trainer.agent.acting),
        ("whole", trainer.collector.collecting),
    ):
        if order.index(side) < order.index(name):
            call.compiled.reject("left eager")
    return trainer


class Watch:
    """Adds up the seconds that the parts of a trainer take."""

    def __init__(self, trainer: ppo.Trainer) -> None:
        self.trainer, self.seconds = trainer, Counter[str]()
        algorithm, collector = trainer.agent.algorithm, trainer.collector
        for owner, name, part in (
            (collector.agent, "sample", "acting"),
            (collector.stepper, "step", "worlds"),
            (trainer.buffer, "add", "storing"),
            (collector, "step", "collecting"),
            (trainer.agent, "annotated", "looking"),
            (algorithm, "prepare", "looking"),
            (algorithm, "learn_from", "cutting"),
            (algorithm, "minimize", "steps"),
        ):
            time_method(owner, name, self.seconds, part)

    def rollout(self) -> dict[str, float]:
        """Milliseconds of each part, of one rollout and learning from it."""
        self.seconds.clear()
        whole, seconds = learn_rollouts(self.trainer, 1), self.seconds
        seconds["cutting"] -= seconds["steps"]  # which are taken on the way
        for part in ("acting", "worlds", "storing"):  # but for a step in one piece
            seconds["collecting"] -= seconds[part]
        seconds["rest"] = whole - sum(seconds.values())
        return {part: round(1e3 * seconds[part], 3) for part in PARTS}


def take_turns(seed: int) -> dict[str, Any]:
    with ExitStack() as stack:
        watches: dict[str, Watch] = {}
        for side in SIDES:
            trainer = stack.enter_context(trainer_of(side, seed))
            watches[side] = Watch(trainer)
            watches[side].rollout()  # compiles
        sides = {side: watch.rollout for side, watch in watches.items()}
        return {"seed": seed, **in_turns(sides, ROLLOUTS)}


def parts_of(runs: Runs, side: str) -> dict[str, float]:
    """Milliseconds of each part of a side: medians over all rollouts."""
    rollouts = [found for run in runs for found in run[side]]
    return {part: statistics.median(x[part] for x in rollouts) for part in PARTS}


def whole_of(runs: Runs, side: str) -> float:
    return statistics.median(sum(x.values()) for run in runs for x in run[side])


def gain(runs: Runs) -> float:
    """The time of a rollout, all eager, in times of all compiled."""
    return whole_of(runs, "eager") / whole_of(runs, [*SIDES][-1])


def table(runs: Runs) -> Table:
    size = FIELDS["num_envs"] * FIELDS["num_steps"]
    rows: list[list[str]] = []
    for side, words in SIDES.items():
        whole, parts = whole_of(runs, side), parts_of(runs, side)
        row = [words, *(f"{value:.1f}" for value in parts.values())]
        rows.append([*row, f"{whole:.0f}", f"{1e3 * size / whole:,.0f}"])
    return ["ms", *PARTS.values(), "all", "steps/s"], rows


def draw(axes: Any, runs: Runs) -> None:
    rows = {
        words: {PARTS[part]: value for part, value in parts_of(runs, side).items()}
        for side, words in SIDES.items()
    }
    bars(axes, rows)


CLAIMS = [
    Trial(
        name="time-ppo",
        statement=(
            "Where the time of PPO goes in worlds of tensors, and what compiling takes"
            " off it, part by part."
        ),
        settings={**FIELDS, "rollouts": ROLLOUTS, "sides": SIDES},
        run=take_turns,
        timed=True,
        table=table,
        judge=lambda runs: [
            at_least("time of all eager, in times of all compiled", gain(runs), 1.1)
        ],
        draw=draw,
        axes={"title": "A rollout of 1,024 x 32", "xlabel": "milliseconds"},
    )
]


if __name__ == "__main__":
    main(CLAIMS)
