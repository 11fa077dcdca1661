"""Chapter 4's first figure: the table of Q-learning fills, episode by episode.

The library's own Q-learning on the slippery FrozenLake. What its table is worth is
exact: `policy_evaluation` of its greedy policy.
"""

from typing import Any

import numpy as np

from yieldrl.algorithms import q_learning
from yieldrl.envs import policy_evaluation, value_iteration

from . import drawing as svg
from .drawing import Frame, Grid
from .frozen_lake import GAMMA, LAKE, transitions

MARKS = [0, 10, 30, 60, 100, 150, 200, 300, 400, 600, 800, 1000]
"""Episodes after which the table is looked at."""
STEPS = 24_000  # enough for the last mark
FIELDS = [state for state, kind in enumerate(LAKE) if kind in "SF"]
GRID = Grid(4, 90, 60, 4)  # as drawn
DIRECTIONS = ((-1, 0), (0, 1), (1, 0), (0, -1))  # left, down, right, up


def figure() -> dict[str, Any]:
    """All frames: a table each."""
    world = transitions()
    value, best = value_iteration(world, GAMMA)

    def frame(mark: int, steps: int, table: np.ndarray) -> Frame:
        truth = policy_evaluation(world, table.argmax(1), GAMMA)[0]
        said = (
            f"After {mark} episodes, {steps:,} steps: the greedy policy is worth"
            f" {truth:.2f} at the start; the best one, {value[0]:.2f}."
        )
        opacity = [round(float(q), 2) for state in FIELDS for q in table[state]]
        fields = svg.each(field(state, table[state], best[state]) for state in FIELDS)
        return {"entry fill-opacity": opacity, **fields, "says text": said}

    found = zip(MARKS, tables(), strict=True)
    return svg.figure(
        size=(480, 368),
        svg=svg.drawn("lake_table"),
        controls={"episodes": {f"{mark}": (mark, *of) for mark, of in found}},
        start=("200",),
        frame=lambda of: frame(*of),
    )


def tables() -> list[tuple[int, np.ndarray]]:
    """Steps taken and the table `[S, A]`, at every mark."""
    config = q_learning.Config(num_envs=8, total_steps=STEPS, eval_every=0, seed=1)
    trainer = q_learning.Trainer(config)
    table = trainer.model.table
    found, episodes = [(0, table.numpy().copy())], 0
    for log in trainer():
        if log["log_type"] == "collect":
            episodes += int(log["logs"].get("episodes", 0))
        elif episodes >= MARKS[len(found)]:
            found.append((log["sample_step"], table.numpy().copy()))
            if len(found) == len(MARKS):
                break
    return found


def field(state: int, q_value: np.ndarray, best: np.ndarray) -> Frame:
    """How a field looks, by its entries `[A]` and the best there are `[A]`."""
    action, (x, y) = int(q_value.argmax()), GRID.middle(state)
    shaft, head, right = f"M{x - 1} {y}h2", "", True  # a dot, before anything is known
    if q_value.any():
        dx, dy = DIRECTIONS[action]
        (a, b), (c, d) = (
            (x + 12 * dx + 7 * by * dy, y + 12 * dy + 7 * by * dx) for by in (-1, 1)
        )
        tip = f"{x + 20 * dx} {y + 20 * dy}"
        shaft, head = f"M{x - 20 * dx} {y - 20 * dy}L{tip}", f"M{a} {b}L{tip}L{c} {d}"
        right = best[action] > best.max() - 1e-6
    return {
        "shaft d": shaft,
        "shaft stroke-dasharray": "none" if right else "5 4",
        "head d": head,
        "number text": f"{q_value.max():.2f}",
    }
