"""Is an algorithm of one's own better than its parent? Chapter 17 reads the answer.

World, budget, score, number of seeds and the rule of decision are fixed here, before
any of the runs: a commit shows it. The pilots had seeds from 101 on, which are no part
of the comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .scores import curve, difference, text
from .style import COLORS, INK, line
from .trials import Options, Run, Trial, Verdict
from .trials.trial import Table, at_least, each

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from yieldrl.algorithms import dqn

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
    """Both sides with one seed, in this process.

    Args:
        seed: The seed of everything.

    Returns:
        Of each side its evaluations `[step, return]` and its score.
    """
    import torch

    torch.set_num_threads(1)
    runs = {side: trained(side, seed) for side in SIDES}
    return {
        "seed": seed,
        "curves": {side: run[0] for side, run in runs.items()},
        "scores": {side: run[1] for side, run in runs.items()},
    }


def trained(side: str, seed: int) -> tuple[list[list[float]], float]:
    """The evaluations of a run, and its score."""
    points: list[list[float]] = []
    with trainer_of(side, seed) as trainer:
        for log in trainer():
            if log["log_type"] == "evaluate":
                points.append([log["sample_step"], _returned(log)])
        return points, _returned(trainer.evaluate(EPISODES))


def trainer_of(side: str, seed: int) -> dqn.Trainer:
    """DQN, or what chapter 17 makes of it, with the same settings."""
    from yieldrl.algorithms import dqn
    from yieldrl.exercises.ch17_your_own_algorithm import solution

    if side == "dqn":
        return dqn.Trainer(dqn.Config(**SETTINGS, seed=seed))
    return solution.Trainer(solution.Config(**SETTINGS, seed=seed))


def measure(options: Options) -> list[dict[str, Any]]:
    """Both sides with every seed."""
    cases = [{"seed": seed} for seed in range(1, options.seeds + 1)]
    return each(train, cases, options.jobs)


def scores(runs: Sequence[Run], side: str) -> np.ndarray:
    """The scores of a side, `[runs]`."""
    return np.array([run["scores"][side] for run in runs])


def decision(low: float, high: float) -> str:
    """What may be said if the interval of the difference has these ends."""
    return "better" if low > 0 else "worse" if high < 0 else "not decided"


def judge(runs: Sequence[Run]) -> list[Verdict]:
    """Nothing is asked of either side; only, that nobody stopped early."""
    demand = "seeds of each side, as fixed beforehand"
    return [at_least(demand, len(runs), SEEDS)]


def table(runs: Sequence[Run]) -> Table:
    """Interquartile means, their difference, and what may be said."""
    of = {side: scores(runs, side) for side in SIDES}
    apart, low, high = map(float, difference(of["munchausen"], of["dqn"]))
    rows = [[SIDES[side], text(values), " "] for side, values in of.items()]
    said = f"{apart:.4g} ({low:.4g} to {high:.4g})"
    rows.append(["difference", said, decision(low, high)])
    return ["side", "interquartile mean, 95 % interval", "decision"], rows


def fill(axes: Axes, runs: Sequence[Run]) -> None:
    """Curves of both sides, interquartile means in their intervals."""
    for color, (side, name) in zip((INK, COLORS[0]), SIDES.items(), strict=True):
        curves = [run["curves"][side] for run in runs]
        drawn = curve(name, [[value for _, value in points] for points in curves])
        steps = np.array([step for step, _ in curves[0]])
        line(axes, replace(drawn, steps=steps), color)
    axes.set_title(f"Munchausen DQN beside DQN on {SETTINGS['env_id']}")
    axes.set_xlabel("environment steps")
    axes.set_ylabel("return of deterministic episodes")


def _returned(log: Any) -> float:
    return round(float(log["logs"]["episode_return"]), 2)


TRIALS = {
    "munchausen": Trial(
        statement="Whether Munchausen DQN returns more than DQN after"
        f" {SETTINGS['total_steps']:,} steps on CartPole: it does if the interval of"
        " the difference of interquartile means lies above 0.",
        measure=measure,
        judge=judge,
        table=table,
        fill=fill,
        settings={**SETTINGS, "episodes": EPISODES},
    )
}
"""Trial -> what it is. `benchmarks/results/comparing-TRIAL.json` keeps it."""
