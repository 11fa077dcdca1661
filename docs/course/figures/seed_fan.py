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
from .frozen_lake import thirds, transitions

RUNS, LAKES, STEPS, EVERY = 40, 8, 10_000, 400
COUNTS = [1, 2, 3, 5, 10, 20, 40]
GROUPS = ("one", "another", "a third")
SILENT = "; nothing says how far to trust it"
GAMMA, LIMIT = 0.99, 100
ACROSS, UP = Scale(0, 1, 48, 446), Scale(0, 0.6, 264, 16)


def figure() -> dict[str, Any]:
    """All frames: a number of runs and a choice of them each."""
    table = transitions()
    curves = learned(table)
    marks = np.linspace(0, 1, len(curves))
    runs = (svg.curve(marks, of, ACROSS, UP) for of in curves.T)
    lines = "".join(svg.line("run axis", d, stroke_opacity=0.5) for d in runs)
    best = UP(value_iteration(table, GAMMA)[0][0])

    def frame(count: int, group: int) -> Frame:
        known = drawn_seeds(RUNS, count, group)
        of = curves[:, known]
        (low, high), middle = interval(of), iqm(of)
        band, mean = fan(marks, (low, high), middle, ACROSS, UP)
        kind = "95 % interval" if count >= 3 else "least and greatest"
        told = f", {kind} {low[-1]:.2f} to {high[-1]:.2f}" if count > 1 else SILENT
        return {
            "run visibility": svg.visible(run in known for run in range(RUNS)),
            "band d": band,
            "iqm d": mean,
            "says text": f"{counted(count)}, group {GROUPS[group]}: after 10 000 steps"
            f" {middle[-1]:.2f}{told}.",
        }

    return svg.figure(
        size=(480, 310),
        svg=svg.drawn("seed_fan", best=best, runs=lines),
        controls={
            "seeds": svg.labelled(COUNTS),
            "which": {name: i for i, name in enumerate(GROUPS)},
        },
        start=("5", "one"),
        frame=frame,
    )


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
    there = svg.curve([*xs, *xs[::-1]], [*high, *low[::-1]], x, y)
    return f"{there}Z", svg.curve(xs, middle, x, y)


def learned(table: Any) -> np.ndarray:
    """What every run's greedy policy is worth at the start, `[marks, RUNS]`.

    The lakes are Gymnasium's, stepped together by their table.
    """
    config = q_learning.Config(num_envs=RUNS * LAKES, total_steps=STEPS, seed=5)
    model = q_learning.Model(Discrete(16 * RUNS), Discrete(4), config)
    algorithm = q_learning.Algorithm(model, config)
    agent, rng = q_learning.Agent(algorithm, config), np.random.default_rng(5)
    outcomes, block = thirds(table), np.repeat(np.arange(RUNS), LAKES) * 16
    state, age = np.zeros((2, RUNS * LAKES), np.int64)
    found = [worth(table, model.table)]
    for step in range(0, STEPS, LAKES):
        agent.counters.sample_step = step
        obs = torch.from_numpy(block + state)
        action, _ = agent.explore(obs)
        at = state, action.numpy(), rng.integers(3, size=len(state))
        after, reward, ended = (of[at] for of in outcomes)
        parts = {
            "obs": obs,
            "action": action,
            "reward": torch.from_numpy(reward).float(),
            "next_obs": torch.from_numpy(block + after),
            "terminated": torch.from_numpy(ended),
        }
        algorithm.learn(TensorDict(parts, [len(state)]))
        over = ended | (age == LIMIT - 1)
        state, age = np.where(over, 0, after), np.where(over, 0, age + 1)
        if (step + LAKES) % EVERY == 0:
            found.append(worth(table, model.table))
    return np.array(found)


def worth(table: Any, q_value: torch.Tensor) -> list[float]:
    """What the greedy policy of every block of rows is worth at the start."""
    policies = q_value.view(RUNS, 16, 4).argmax(2).numpy()
    return [float(policy_evaluation(table, of, GAMMA)[0]) for of in policies]
