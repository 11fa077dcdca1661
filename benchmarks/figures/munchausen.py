"""Whether Munchausen DQN returns more than DQN after 10,000 steps on CartPole: it does
if the interval of the difference of interquartile means lies above 0.

World, budget, score, number of seeds and the rule of decision were fixed and committed
before any of the runs. The pilots had seeds from 101 on. Chapter 17 reads the answer.
"""

from typing import Any

import numpy as np

from yieldrl.algorithms import dqn
from yieldrl.benchmarks import figure
from yieldrl.benchmarks.scores import difference, interval, iqm, text
from yieldrl.benchmarks.style import COLORS, INK, line
from yieldrl.exercises.ch17_your_own_algorithm import solution
from yieldrl.experiments.plot import Curve

SAYS = figure.said("comparing-munchausen", __doc__)
# of both sides; all else has its default, in Munchausen DQN the paper's
SETTINGS: dict[str, Any] = {"env_id": "CartPole-v1", "total_steps": 10_000}
SETTINGS |= {"eval_every": 1_000, "eval_episodes": 10, "device": "cpu", "threads": 1}
EPISODES = 20  # after the last step, whose mean return is the score of a run
SEEDS = 20  # runs of each side, no fewer and no more
SIDES = {"dqn": "DQN", "munchausen": "Munchausen DQN"}


def measure(seed: int, **fields: Any) -> dict[str, Any]:
    """Curve and score of both sides."""
    run: dict[str, Any] = {"seed": seed, "curves": {}, "scores": {}}
    for side, of in {"dqn": dqn, "munchausen": solution}.items():
        with of.Trainer(of.Config(**SETTINGS | fields, seed=seed)) as trainer:
            run["curves"][side] = figure.trained(trainer)
            run["scores"][side] = figure.score(trainer, EPISODES)
    return run


def decision(low: float, high: float) -> str:
    """What may be said if the interval of the difference has these ends."""
    return "better" if low > 0 else "worse" if high < 0 else "not decided"


def table(runs: figure.Runs) -> figure.Table:
    of = {side: np.array(figure.values(runs, "scores", side)) for side in SIDES}
    apart, low, high = map(float, difference(of["munchausen"], of["dqn"]))
    rows = [[SIDES[side], text(found), " "] for side, found in of.items()]
    shown = f"{apart:.4g} ({low:.4g} to {high:.4g})"
    rows.append(["difference", shown, decision(low, high)])
    return ["side", "interquartile mean, 95 % interval", "decision"], rows


def draw(axes: Any, runs: figure.Runs) -> None:
    for color, (side, name) in zip((INK, COLORS[0]), SIDES.items(), strict=True):
        curves = np.array(figure.values(runs, "curves", side))  # [runs, T, 2]
        steps, of = curves[0, :, 0], curves[..., 1].T
        label = f"{name}, {len(runs)} runs"
        line(axes, Curve(label, steps, iqm(of), *interval(of), len(runs)), color)
    axes.set(title="Munchausen DQN beside DQN on CartPole-v1")
    axes.set(xlabel="environment steps", ylabel="return of deterministic episodes")


if __name__ == "__main__":
    figure.main(SAYS, measure, table, draw)
