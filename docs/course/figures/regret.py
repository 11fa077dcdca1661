"""Chapter 2's figure: what epsilon does to the regret of following guides.

Four guides across the frozen lake, of whom each knows the best way and some do not keep
to it. Their shares of success are exact, from the lake's table. All travellers are
played by the library's own Q-learning, which without a future is a bandit's: a row of
its table for every traveller, and epsilon in a column.
"""

from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Discrete
from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms import q_learning
from yieldrl.envs import policy_evaluation, value_iteration

from . import drawing as svg
from .drawing import Frame, Scale
from .frozen_lake import transitions

EPSILONS = [0, 0.005, 0.01, 0.02, 0.04, 0.06, 0.09, 0.12, 0.16, 0.25]
EPSILONS += [0.36, 0.49, 0.64, 0.81, 1]
SCHEDULES = {"constant": 1.0, "falling": 0.0}
"""Schedule -> what is left of epsilon from half way on, as a share of its start."""
STRAYING = (0.1, 0.0, 0.2, 0.05)
"""Each guide's share of steps at random."""
RUNS, STEPS, EARLY, SHOWN = 250, 1000, 100, 12
LOOKS = ("blue dashed", "ink")  # over the first 100 crossings, over all 1 000
CROSSING, ROOT = Scale(0, STEPS, 48, 460), Scale(0, 1, 48, 460)
REGRET, RATE = Scale(0, 320, 172, 22), Scale(0, 0.35, 392, 264)


def guides() -> np.ndarray:
    """The share of crossings in which each guide arrives, `[A]`, exactly."""
    table = transitions()
    best = np.eye(4)[value_iteration(table, 0.999)[1].argmax(1)]
    ways = [(1 - stray) * best + stray / 4 for stray in STRAYING]
    return np.array([policy_evaluation(table, way, 1)[0] for way in ways])


class Travellers(q_learning.Agent):
    """Q-learning's agent, with an epsilon for each row of the table."""

    start: Tensor
    """Epsilon at first, `[R, 1]`."""

    def epsilon(self) -> Any:
        """Probability of a random action at this step, `[R, 1]`."""
        return self.start * super().epsilon()


def played(success: np.ndarray, epsilons: list[float], end: float) -> np.ndarray:
    """Regret of every crossing, `[STEPS, epsilons, RUNS]`.

    Args:
        success: The guides' shares, `[A]`.
        epsilons: Probabilities of a random action at first.
        end: What is left of them from half way on, as a share.
    """
    half = {"exploration_fraction": 0.5, "epsilon_end": end, "total_steps": STEPS}
    config = q_learning.Config(visit_power=1.0, seed=2, **half)  # of visits, means
    count = len(epsilons) * RUNS
    model = q_learning.Model(Discrete(count), Discrete(len(success)), config)
    algorithm = q_learning.Algorithm(model, config)
    agent, generator = Travellers(algorithm, config), torch.Generator().manual_seed(2)
    agent.start = torch.tensor(epsilons).repeat_interleave(RUNS)[:, None]
    chance, traveller = torch.from_numpy(success).float(), torch.arange(count)
    always = torch.ones(count, dtype=torch.bool)
    parts = {"obs": traveller, "next_obs": traveller, "terminated": always}
    regret = []
    for step in range(STEPS):
        agent.counters.sample_step = step
        action, _ = agent.explore(traveller)
        arrives = torch.rand(count, generator=generator) < chance[action]
        earned = {"action": action, "reward": arrives.float()}
        algorithm.learn(TensorDict(parts | earned, [count]))
        regret.append(success.max() - success[action])
    return np.reshape(regret, (STEPS, len(epsilons), RUNS))


def figure() -> dict[str, Any]:
    """All frames: an epsilon and a schedule each."""
    success = guides()
    regrets = {name: played(success, EPSILONS, end) for name, end in SCHEDULES.items()}

    def frame(epsilon: float, name: str) -> Frame:
        regret = regrets[name][:, EPSILONS.index(epsilon)]
        sums, best = regret.cumsum(0), (regret[-EARLY:] == 0).mean()
        mean = sums.mean(1)
        return {
            "run d": [grown(sums[:, run]) for run in range(SHOWN)],
            "mean d": grown(mean),
            "now d": f"M{ROOT(epsilon**0.5)} 264V392",
            "curves visibility": svg.visible(name == other for other in SCHEDULES),
            "says text": f"ε = {epsilon:g}, {name}: regret {mean[EARLY - 1]:.0f} after"
            f" {EARLY}, {mean[-1]:.0f} after 1 000 crossings; best guide in"
            f" {100 * best:.0f} % of the last {EARLY}.",
        }

    return svg.figure(
        size=(480, 430),
        svg=drawing(regrets),
        controls={
            "ε": svg.labelled(EPSILONS, "g"),
            "schedule": svg.labelled(SCHEDULES),
        },
        start=("0.02", "constant"),
        frame=frame,
    )


def drawing(regrets: dict[str, np.ndarray]) -> str:
    """Regret per crossing for every epsilon, early and over all, of each schedule."""
    roots, groups = [epsilon**0.5 for epsilon in EPSILONS], ""
    for regret in regrets.values():
        means = regret[:EARLY].mean((0, 2)), regret.mean((0, 2))
        curves = svg.curves(LOOKS, roots, means, ROOT, RATE)
        groups += svg.tag("g", curves, class_="curves")
    return svg.drawn("regret", curves=groups)


def grown(sums: np.ndarray) -> str:
    """A line over the crossings, as far as the axis goes."""
    points = zip(range(0, STEPS + 1, 50), [0.0, *sums[49::50]], strict=True)
    return svg.joined(
        (round(CROSSING(k)), round(REGRET(y))) for k, y in points if y <= REGRET.high
    )
