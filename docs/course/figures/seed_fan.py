"""Chapter 5's third figure: forty seeds of one training, and what some of them say.

The library's Q-learning on the frozen lake: all runs fill one table, a block of rows
for each, so that they do not touch. What a run has learned is exact,
`policy_evaluation` of its greedy policy; so all that differs is the seed.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Discrete
from tensordict import TensorDict

from yieldrl.algorithms import q_learning
from yieldrl.benchmarks.scores import interval, iqm
from yieldrl.envs import policy_evaluation, value_iteration

RUNS, LAKES, STEPS, EVERY = 40, 8, 10_000, 400
COUNTS = [1, 2, 3, 5, 10, 20, 40]
GROUPS = ("one", "another", "a third")
GAMMA, LIMIT = 0.99, 100
CAPTION = """\
Q-learning on the frozen lake, 10 000 steps with ε falling to 0.1; only the seed
differs. Thin: the runs that you know, and what their greedy policies are worth,
exactly. Red: their interquartile mean, in its 95&nbsp;% bootstrap interval. Dashed: the
best there is. Another group is what somebody else would have found."""
LEFT, RIGHT, LOW, HIGH = 48, 446, 264, 16  # of the axes, in pixels


def figure() -> dict[str, Any]:
    """All frames: a number of runs and a choice of them each."""
    table = gymnasium.make("FrozenLake-v1").unwrapped.P  # pyright: ignore
    best = float(value_iteration(table, GAMMA)[0][0])
    curves = learned(table)
    shown = [
        frame(curves, known(count, group), group)
        for count in COUNTS
        for group in range(len(GROUPS))
    ]
    start = (COUNTS.index(5), 0)
    return {
        "title": "Learning curves of forty seeds, and what a few of them say",
        "caption": CAPTION,
        "size": (480, 310),
        "svg": drawing(curves, shown[start[0] * len(GROUPS)], best),
        "controls": {"seeds": [str(count) for count in COUNTS], "which": list(GROUPS)},
        "start": start,
        "parts": PARTS,
        "frames": shown,
    }


def known(count: int, group: int) -> np.ndarray:
    """Which runs one knows: so many, drawn without replacement."""
    return np.random.default_rng(group).permutation(RUNS)[:count]


def learned(table: Any) -> np.ndarray:
    """What every run's greedy policy is worth at the start, `[marks, RUNS]`."""
    config = q_learning.Config(num_envs=RUNS * LAKES, total_steps=STEPS, seed=5)
    model = q_learning.Model(Discrete(16 * RUNS), Discrete(4), config)
    algorithm = q_learning.Algorithm(model, config)
    agent, lakes = q_learning.Agent(algorithm, config), Lakes(table)
    block = torch.arange(RUNS).repeat_interleave(LAKES) * 16
    found = [worth(table, model.table)]
    for step in range(0, STEPS, LAKES):
        agent.sample_step = step
        state = torch.from_numpy(lakes.state)
        action, _ = agent.explore(block + state)
        reward, after, terminated = map(torch.from_numpy, lakes.step(action.numpy()))
        parts = {"obs": block + state, "action": action, "reward": reward}
        parts |= {"next_obs": block + after, "terminated": terminated}
        algorithm.learn(TensorDict(parts, [RUNS * LAKES]))
        if (step + LAKES) % EVERY == 0:
            found.append(worth(table, model.table))
    return np.array(found)


def worth(table: Any, q_value: torch.Tensor) -> list[float]:
    """What the greedy policy of every block of rows is worth at the start."""
    policies = q_value.view(RUNS, 16, 4).argmax(2).numpy()
    return [float(policy_evaluation(table, of, GAMMA)[0]) for of in policies]


class Lakes:
    """All lakes of all runs, stepped together; the same as Gymnasium's, from its table.

    Attributes:
        state: Where each of them stands, `[N]`.
    """

    def __init__(self, table: Any) -> None:
        outcomes = [[table[s][a] for a in range(4)] for s in range(16)]
        alike = [[of if len(of) == 3 else of * 3 for of in row] for row in outcomes]
        self.outcomes = np.array(alike, float)  # [S, A, 3, 4]; each a third
        self.rng = np.random.default_rng(5)
        self.state = np.zeros(RUNS * LAKES, np.int64)
        self.age = np.zeros_like(self.state)

    def step(self, action: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Reward, the state that each action led to, and whether it ended there."""
        drawn = self.rng.integers(3, size=len(action))
        _, after, reward, ended = self.outcomes[self.state, action, drawn].T
        led, terminated = after.astype(np.int64), ended.astype(bool)
        self.age += 1
        over = terminated | (self.age == LIMIT)
        self.state, self.age = np.where(over, 0, led), np.where(over, 0, self.age)
        return reward.astype(np.float32), led, terminated


PARTS = [(".run", "visibility"), (".band", "d"), (".iqm", "d"), (".says", "text")]


def frame(curves: np.ndarray, runs: np.ndarray, group: int) -> list[Any]:
    """The values of `PARTS`, for those who know these runs."""
    of = curves[:, runs]
    low, high = interval(of)
    middle = iqm(of)
    count = len(runs)
    kind = "95 % interval" if count >= 3 else "least and greatest"
    told = f", {kind} {low[-1]:.2f} to {high[-1]:.2f}" if count > 1 else ""
    named = "1 seed" if count == 1 else f"{count} seeds"
    silent = "; nothing says how far to trust it" if count == 1 else ""
    return [
        ["visible" if run in runs else "hidden" for run in range(RUNS)],
        f"M{'L'.join(points(high) + points(low)[::-1])}Z",
        line(middle),
        f"{named}, group {GROUPS[group]}: after 10 000 steps {middle[-1]:.2f}{told}"
        f"{silent}.",
    ]


def drawing(curves: np.ndarray, first: list[Any], best: float) -> str:
    """Axes and all parts, as the first frame has them."""
    seen, band, middle, _ = first
    runs = "".join(
        f'<path class="run axis" stroke-opacity="0.5" visibility="{shown}"'
        f' d="{line(curve)}"/>'
        for curve, shown in zip(curves.T, seen, strict=True)
    )
    across = "".join(
        f'<path class="axis" d="M{x} {LOW}v4"/>'
        f'<text x="{x}" y="{LOW + 18}" text-anchor="middle">{name}</text>'
        for x, name in (
            (wide(k / 10), f"{k} 000" if k else "0") for k in range(0, 11, 2)
        )
    )
    up = "".join(
        f'<path class="axis" d="M{LEFT} {tall(y)}h-4"/>'
        f'<text x="{LEFT - 7}" y="{tall(y) + 4}" text-anchor="end">{y:g}</text>'
        for y in (0, 0.2, 0.4)
    )
    return (
        f'<path class="axis" d="M{LEFT} {HIGH}V{LOW}H{RIGHT}"/>{across}{up}'
        f'<text x="{(LEFT + RIGHT) // 2}" y="{LOW + 36}">steps</text>'
        f'<text x="{LEFT + 8}" y="{HIGH + 4}">value of the start</text>'
        f'<path class="ink line dashed" d="M{LEFT} {tall(best)}H{RIGHT}"/>'
        f'<path class="band shade" fill-opacity="0.3" d="{band}"/>{runs}'
        f'<path class="iqm red line" d="{middle}"/>'
    )


def line(values: np.ndarray) -> str:
    """A line over the steps."""
    return f"M{'L'.join(points(values))}"


def points(values: np.ndarray) -> list[str]:
    """Pixels of values at all marks."""
    last = len(values) - 1
    return [f"{wide(k / last):g} {tall(float(y)):g}" for k, y in enumerate(values)]


def wide(share: float) -> float:
    """Pixels of a share of all steps."""
    return round(LEFT + (RIGHT - LEFT) * share, 1)


def tall(value: float) -> float:
    """Pixels of a value."""
    return round(LOW - (LOW - HIGH) * value / 0.6, 1)
