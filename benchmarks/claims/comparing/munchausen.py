"""Is an algorithm of one's own better than its parent? Chapter 17 reads the answer.

World, budget, score, number of seeds and the rule of decision were fixed and committed
before any of the runs. The pilots had seeds from 101 on.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import values
from yieldrl.benchmarks.scores import curve, difference, text
from yieldrl.benchmarks.style import COLORS, INK, line
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_least

SETTINGS: dict[str, Any] = {
    "env_id": "CartPole-v1",
    "total_steps": 10_000,
    "eval_every": 1_000,
    "eval_episodes": 10,
    "device": "cpu",
    "threads": 1,
    "speed": "eager",
}
"""Of both sides; all else has its default, in Munchausen DQN the paper's."""

EPISODES = 20
"""Deterministic ones after the last step, whose mean return is the score of a run."""

SEEDS = 20
"""Runs of each side, no fewer and no more."""

SIDES = {"dqn": "DQN", "munchausen": "Munchausen DQN"}


def train(seed: int) -> dict[str, Any]:
    runs = {side: trained(side, seed) for side in SIDES}
    return {
        "seed": seed,
        "curves": {side: run[0] for side, run in runs.items()},
        "scores": {side: run[1] for side, run in runs.items()},
    }


def trained(side: str, seed: int) -> tuple[list[list[float]], float]:
    points: list[list[float]] = []
    with trainer_of(side, seed) as trainer:
        for log in trainer():
            if log["log_type"] == "evaluate":
                points.append([log["sample_step"], _returned(log)])
        return points, _returned(trainer.evaluate(EPISODES))


def trainer_of(side: str, seed: int) -> Any:
    from yieldrl.algorithms import dqn
    from yieldrl.exercises.ch17_your_own_algorithm import solution

    if side == "dqn":
        return dqn.Trainer(dqn.Config(**SETTINGS, seed=seed))
    return solution.Trainer(solution.Config(**SETTINGS, seed=seed))


def scores(runs: Runs, side: str) -> np.ndarray:
    return np.array(values(runs, "scores", side))


def decision(low: float, high: float) -> str:
    """What may be said if the interval of the difference has these ends."""
    return "better" if low > 0 else "worse" if high < 0 else "not decided"


def judge(runs: Runs) -> list[Demand]:
    return [at_least("seeds of each side, as fixed beforehand", len(runs), SEEDS)]


def table(runs: Runs) -> Table:
    of = {side: scores(runs, side) for side in SIDES}
    apart, low, high = map(float, difference(of["munchausen"], of["dqn"]))
    rows = [[SIDES[side], text(found), " "] for side, found in of.items()]
    shown = f"{apart:.4g} ({low:.4g} to {high:.4g})"
    rows.append(["difference", shown, decision(low, high)])
    return ["side", "interquartile mean, 95 % interval", "decision"], rows


def draw(axes: Any, runs: Runs) -> None:
    for color, (side, name) in zip((INK, COLORS[0]), SIDES.items(), strict=True):
        curves = [run["curves"][side] for run in runs]
        drawn = curve(name, [[value for _, value in points] for points in curves])
        steps = np.array([step for step, _ in curves[0]])
        line(axes, replace(drawn, steps=steps), color)


def _returned(log: Any) -> float:
    return round(float(log["logs"]["episode_return"]), 2)


CLAIMS = [
    Trial(
        name="comparing-munchausen",
        statement=(
            "Whether Munchausen DQN returns more than DQN after 10,000 steps on"
            " CartPole: it does if the interval of the difference of interquartile"
            " means lies above 0."
        ),
        settings={**SETTINGS, "episodes": EPISODES},
        run=train,
        table=table,
        judge=judge,
        draw=draw,
        axes={
            "title": "Munchausen DQN beside DQN on CartPole-v1",
            "xlabel": "environment steps",
            "ylabel": "return of deterministic episodes",
        },
    )
]


if __name__ == "__main__":
    main(CLAIMS)
