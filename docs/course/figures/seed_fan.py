"""Chapter 5's third figure: forty seeds of one training, and what some of them say.

The library's Q-learning on the frozen lake: all runs fill one table, a block of rows
for each, so that they do not touch. What a run has learned is exact,
`policy_evaluation` of its greedy policy; so all that differs is the seed.
"""

from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Discrete
from tensordict import TensorDict

from yieldrl.algorithms import q_learning
from yieldrl.benchmarks.scores import interval, iqm
from yieldrl.envs import policy_evaluation, value_iteration

from . import drawing as svg
from .drawing import Frame, Scale
from .frozen_lake import transitions

RUNS, LAKES, STEPS, EVERY = 40, 8, 10_000, 400
COUNTS = [1, 2, 3, 5, 10, 20, 40]
GROUPS = ("one", "another", "a third")
SILENT = "; nothing says how far to trust it"
GAMMA, LIMIT = 0.99, 100
ACROSS, UP = Scale(0, 1, 48, 446), Scale(0, 0.6, 264, 16)


def figure() -> dict[str, Any]:
    """All frames: a number of runs and a choice of them each."""
    table = transitions()
    best = float(value_iteration(table, GAMMA)[0][0])
    curves = learned(table)
    return svg.figure(
        size=(480, 310),
        svg=drawing(curves, best),
        controls={
            "seeds": svg.labelled(COUNTS),
            "which": {name: i for i, name in enumerate(GROUPS)},
        },
        start=("5", "one"),
        frame=lambda count, group: frame(curves, known(count, group), group),
    )


def known(count: int, group: int) -> np.ndarray:
    """Which runs one knows."""
    return drawn_seeds(RUNS, count, group)


def drawn_seeds(seeds: int, count: int, group: int) -> np.ndarray:
    """So many of all seeds, drawn without replacement."""
    return np.random.default_rng(group).permutation(seeds)[:count]


def counted(seeds: int) -> str:
    """A number of seeds, in words."""
    return "1 seed" if seeds == 1 else f"{seeds} seeds"


def fan(
    xs: np.ndarray, bounds: Any, middle: np.ndarray, x: Scale, y: Scale
) -> tuple[str, str]:
    """Paths of an interval and of the line in its middle."""
    low, high = bounds
    there = [(x(a), y(b)) for a, b in zip(xs, high, strict=True)]
    back = [(x(a), y(b)) for a, b in zip(xs, low, strict=True)][::-1]
    return f"{svg.joined(there + back)}Z", svg.curve(xs, middle, x, y)


def learned(table: Any) -> np.ndarray:
    """What every run's greedy policy is worth at the start, `[marks, RUNS]`."""
    config = q_learning.Config(num_envs=RUNS * LAKES, total_steps=STEPS, seed=5)
    model = q_learning.Model(Discrete(16 * RUNS), Discrete(4), config)
    algorithm = q_learning.Algorithm(model, config)
    agent, lakes = q_learning.Agent(algorithm, config), Lakes(table)
    block = torch.arange(RUNS).repeat_interleave(LAKES) * 16
    found = [worth(table, model.table)]
    for step in range(0, STEPS, LAKES):
        agent.counters.sample_step = step
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


def frame(curves: np.ndarray, runs: np.ndarray, group: int) -> Frame:
    """What is known from some runs."""
    of, count = curves[:, runs], len(runs)
    (low, high), middle = interval(of), iqm(of)
    band, mean = fan(np.linspace(0, 1, len(of)), (low, high), middle, ACROSS, UP)
    kind = "95 % interval" if count >= 3 else "least and greatest"
    told = f", {kind} {low[-1]:.2f} to {high[-1]:.2f}" if count > 1 else SILENT
    return {
        "run visibility": svg.visible(run in runs for run in range(RUNS)),
        "band d": band,
        "iqm d": mean,
        "says text": f"{counted(count)}, group {GROUPS[group]}: after 10 000 steps"
        f" {middle[-1]:.2f}{told}.",
    }


def drawing(curves: np.ndarray, best: float) -> str:
    """Axes, all runs and their means."""
    marks = np.linspace(0, 1, len(curves))
    runs = [svg.curve(marks, of, ACROSS, UP) for of in curves.T]
    steps = {k / 10: f"{k} 000" if k else "0" for k in range(0, 11, 2)}
    return svg.parts(
        svg.x_axis(ACROSS, 264, steps, "steps"),
        svg.y_axis(UP, 48, (0, 0.2, 0.4)),
        svg.label(56, 20, "value of the start"),
        svg.line("ink line dashed", f"M48 {UP(best)}H446"),
        svg.line("band shade", fill_opacity=0.3),
        "".join(svg.line("run axis", d, stroke_opacity=0.5) for d in runs),
        svg.line("iqm red line"),
    )
