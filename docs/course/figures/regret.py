"""Chapter 2's figure: what epsilon does to the regret of following guides.

Four guides across the frozen lake, of whom each knows the best way and some do not keep
to it. Their shares of success are exact, from the lake's table. All travellers are
played by the library's own Q-learning, which without a future is a bandit's: a row of
its table for every traveller, and epsilon in a column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Discrete
from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms import q_learning
from yieldrl.envs import policy_evaluation, value_iteration

EPSILONS = [0, 0.005, 0.01, 0.02, 0.04, 0.06, 0.09, 0.12, 0.16, 0.25]
EPSILONS += [0.36, 0.49, 0.64, 0.81, 1]
SCHEDULES = {"constant": 1.0, "falling": 0.0}
"""Schedule -> what is left of epsilon from half way on, as a share of its start."""
STRAYING = (0.1, 0.0, 0.2, 0.05)
"""Each guide's share of steps at random."""
RUNS, STEPS, EARLY, SHOWN = 250, 1000, 100, 12
CAPTION = """\
Above: the regret so far, of 12 travellers in grey and of 250 on average in red. Below:
regret per crossing for every ε, over the first 100 crossings and over all 1 000.
<em>Falling</em>: ε goes linearly to 0 in the first half, and stays there."""
LEFT, RIGHT = 48, 460  # of both axes, in pixels
HIGHEST, WORST = 320, 0.35  # on the upper axis and on the lower


def guides() -> np.ndarray:
    """The share of crossings in which each guide arrives, `[A]`, exactly."""
    table = gymnasium.make("FrozenLake-v1").unwrapped.P  # pyright: ignore
    best = np.eye(4)[value_iteration(table, 0.999)[1].argmax(1)]
    ways = [(1 - stray) * best + stray / 4 for stray in STRAYING]
    return np.array([policy_evaluation(table, way, 1)[0] for way in ways])


class Travellers(q_learning.Agent):
    """Q-learning's agent, with an epsilon for each row of the table.

    Attributes:
        start: Epsilon at first, `[R, 1]`.
    """

    start: Tensor

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
    config = q_learning.Config(
        visit_power=1.0,  # means
        total_steps=STEPS,
        epsilon_end=end,
        exploration_fraction=0.5,
        seed=2,
    )
    count = len(epsilons) * RUNS
    model = q_learning.Model(Discrete(count), Discrete(len(success)), config)
    algorithm = q_learning.Algorithm(model, config)
    agent, generator = Travellers(algorithm, config), torch.Generator().manual_seed(2)
    agent.start = torch.tensor(epsilons).repeat_interleave(RUNS)[:, None]
    chance, traveller = torch.from_numpy(success).float(), torch.arange(count)
    always = torch.ones(count, dtype=torch.bool)
    taken = torch.zeros(STEPS, count, dtype=torch.uint8)
    for step in range(STEPS):
        agent.sample_step = step
        action, _ = agent.explore(traveller)
        arrives = torch.rand(count, generator=generator) < chance[action]
        parts = {"obs": traveller, "action": action, "reward": arrives.float()}
        parts |= {"next_obs": traveller, "terminated": always}
        algorithm.learn(TensorDict(parts, [count]))
        taken[step] = action
    regret = (success.max() - success)[taken.numpy()]
    return regret.reshape(STEPS, len(epsilons), RUNS)


def figure() -> dict[str, Any]:
    """All frames: an epsilon and a schedule each."""
    success = guides()
    regrets = {name: played(success, EPSILONS, end) for name, end in SCHEDULES.items()}
    shown = [
        frame(regret[:, i], EPSILONS[i], name)
        for i in range(len(EPSILONS))
        for name, regret in regrets.items()
    ]
    start = (EPSILONS.index(0.02), list(SCHEDULES).index("constant"))
    first = shown[start[0] * len(SCHEDULES) + start[1]]
    return {
        "title": "Regret of epsilon-greedy choices, for every epsilon",
        "caption": CAPTION,
        "size": (480, 430),
        "svg": drawing(regrets, first),
        "controls": {
            "ε": [f"{epsilon:g}" for epsilon in EPSILONS],
            "schedule": list(SCHEDULES),
        },
        "start": start,
        "parts": PARTS,
        "frames": shown,
    }


PARTS = [(".run", "d"), (".mean", "d"), (".now", "d")]
PARTS += [(".curves", "visibility"), (".says", "text")]


def frame(regret: np.ndarray, epsilon: float, name: str) -> list[Any]:
    """The values of `PARTS`, from the regret `[STEPS, RUNS]` of one epsilon."""
    sums = regret.cumsum(0)
    mean, best = sums.mean(1), (regret[-EARLY:] == 0).mean()
    said = (
        f"ε = {epsilon:g}, {name}: regret {mean[EARLY - 1]:.0f} after {EARLY},"
        f" {mean[-1]:.0f} after {STEPS:,} crossings; best guide in {best:.0%} of the"
        f" last {EARLY}."
    )
    return [
        [grown(sums[:, run]) for run in range(SHOWN)],
        grown(mean),
        f"M{across(epsilon**0.5)} 264V392",
        ["visible" if name == other else "hidden" for other in SCHEDULES],
        said.replace(f"{STEPS:,}", "1 000").replace("%", " %"),
    ]


def drawing(regrets: dict[str, np.ndarray], first: list[Any]) -> str:
    """Axes and all parts, as the first frame has them."""
    runs, mean, now, visible, _ = first
    lines = "".join(f'<path class="run axis" d="{run}"/>' for run in runs)
    groups = "".join(
        f'<g class="curves" visibility="{seen}">{curves(regret)}</g>'
        for regret, seen in zip(regrets.values(), visible, strict=True)
    )
    steps = [(k / STEPS, f"{k:,}".replace(",", " ")) for k in range(0, STEPS + 1, 250)]
    marks = [(e**0.5, f"{e:g}") for e in (0, 0.01, 0.04, 0.09, 0.25, 0.5, 1)]
    return (
        f"{axis(172, 'crossings', steps)}{axis(392, 'ε', marks)}"
        f"{heights([0, 100, 200, 300], high)}{heights([0, 0.1, 0.2, 0.3], up)}"
        f'<text x="{LEFT + 8}" y="16">regret so far</text>{legend()}{lines}'
        f'<path class="mean red line" d="{mean}"/>'
        f'<path class="now axis dotted" d="{now}"/>{groups}'
    )


def curves(regret: np.ndarray) -> str:
    """Regret per crossing for every epsilon, early and over all."""
    means = regret[:EARLY].mean((0, 2)), regret.mean((0, 2))
    drawn = ""
    for look, ys in zip(LOOKS, means, strict=True):
        points = zip(EPSILONS, ys, strict=True)
        line = "L".join(f"{across(x**0.5)} {up(y)}" for x, y in points)
        drawn += f'<path class="{look} line" d="M{line}"/>'
    return drawn


LOOKS = {"blue dashed": "the first 100 crossings", "ink": "all 1 000"}


def legend() -> str:
    """What the two lines below are."""
    start = f'<text x="{LEFT + 8}" y="250">regret per crossing over</text>'
    return start + "".join(
        f'<path class="{look} line" d="M{x} 246h26"/>'
        f'<text x="{x + 32}" y="250">{name}</text>'
        for x, (look, name) in zip((204, 376), LOOKS.items(), strict=True)
    )


def axis(y: int, name: str, marks: list[tuple[float, str]]) -> str:
    """A horizontal axis, with its name."""
    drawn = "".join(
        f'<path class="axis" d="M{across(x)} {y}v4"/>'
        f'<text x="{across(x)}" y="{y + 16}" text-anchor="middle">{mark}</text>'
        for x, mark in marks
    )
    middle = (LEFT + RIGHT) / 2
    return (
        f'<path class="axis" d="M{LEFT} {y}H{RIGHT}"/>{drawn}'
        f'<text x="{middle}" y="{y + 32}" text-anchor="middle">{name}</text>'
    )


def heights(marks: list[float], place: Callable[[float], float]) -> str:
    """A vertical axis."""
    drawn = "".join(
        f'<path class="axis" d="M{LEFT} {place(y)}h-4"/>'
        f'<text x="{LEFT - 7}" y="{place(y) + 4}" text-anchor="end">{y:g}</text>'
        for y in marks
    )
    return f'<path class="axis" d="M{LEFT} {place(0)}V{place(max(marks))}"/>{drawn}'


def across(x: float) -> float:
    """Pixels of a number between 0 and 1."""
    return round(LEFT + (RIGHT - LEFT) * float(x), 1)


def high(y: float) -> float:
    """Pixels of a regret on the upper axis."""
    return round(172 - 150 * float(y) / HIGHEST, 1)


def up(y: float) -> float:
    """Pixels of a regret per crossing on the lower axis."""
    return round(392 - 128 * float(y) / WORST, 1)


def grown(sums: np.ndarray) -> str:
    """A line over the crossings, as far as the axis goes."""
    points = [(k, sums[k - 1] if k else 0.0) for k in range(0, STEPS + 1, 50)]
    inside = [(k, y) for k, y in points if y <= HIGHEST]
    return "M" + "L".join(f"{across(k / STEPS):.0f} {high(y):.0f}" for k, y in inside)
