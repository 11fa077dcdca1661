"""Chapter 4's first figure: the table of Q-learning fills, episode by episode.

The library's own Q-learning on the slippery FrozenLake. What its table is worth is
exact: `policy_evaluation` of its greedy policy.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from yieldrl.algorithms import q_learning
from yieldrl.envs import policy_evaluation, value_iteration

GAMMA = 0.99
MARKS = [0, 10, 30, 60, 100, 150, 200, 300, 400, 600, 800, 1000]
"""Episodes after which the table is looked at."""
STEPS = 24_000  # enough for the last mark
LAKE = "SFFFFHFHFFFHHFFG"
FIELDS = [state for state, kind in enumerate(LAKE) if kind in "SF"]
SIDE, LEFT, TOP = 90, 60, 4
DIRECTIONS = ((-1, 0), (0, 1), (1, 0), (0, -1))  # left, down, right, up
CAPTION = """\
A field's four triangles are its four entries, the darker the larger. The number is the
largest of them. The arrow is the greedy action: solid if no other is better in truth,
dashed if one is, a dot as long as nothing has been learned. Holes are grey."""


def figure() -> dict[str, Any]:
    """All frames: a table each."""
    world = gymnasium.make("FrozenLake-v1").unwrapped.P  # pyright: ignore
    value, best = value_iteration(world, GAMMA)
    shown = []
    for mark, (steps, table) in zip(MARKS, tables(), strict=True):
        truth = policy_evaluation(world, table.argmax(1), GAMMA)[0]
        said = (
            f"After {mark} episodes, {steps:,} steps: the greedy policy is worth"
            f" {truth:.2f} at the start; the best one, {value[0]:.2f}."
        )
        shown.append([*look(table, best), said])
    start = MARKS.index(200)
    return {
        "title": "The table of Q-learning on the frozen lake, as it fills",
        "caption": CAPTION,
        "size": (480, 368),
        "svg": drawing(shown[start]),
        "controls": {"episodes": [f"{mark}" for mark in MARKS]},
        "start": (start,),
        "parts": PARTS,
        "frames": shown,
    }


PARTS = [(".entry", "fill-opacity"), (".shaft", "d"), (".shaft", "stroke-dasharray")]
PARTS += [(".head", "d"), (".number", "text"), (".says", "text")]


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


def look(table: np.ndarray, best: np.ndarray) -> list[list[Any]]:
    """The values of `PARTS` but the last, for one table."""
    arrows, dashes, numbers = [], [], []
    for state in FIELDS:
        action, learned = int(table[state].argmax()), table[state].any()
        right = best[state, action] > best[state].max() - 1e-6
        arrows.append(arrow(state, action if learned else None))
        dashes.append("none" if right or not learned else "5 4")
        numbers.append(f"{table[state].max():.2f}")
    opacity = [round(float(q), 2) for state in FIELDS for q in table[state]]
    shafts, heads = (list(parts) for parts in zip(*arrows, strict=True))
    return [opacity, shafts, dashes, heads, numbers]


def drawing(first: list[Any]) -> str:
    """The lake, and all parts as the first frame has them."""
    opacity, shafts, dashes, heads, numbers, _ = first
    shade = iter(opacity)
    fields = "".join(
        f'<path class="entry" fill="#3a86d0" fill-opacity="{next(shade)}"'
        f' d="{triangle(state, action)}"/>'
        for state in FIELDS
        for action in range(4)
    )
    frames = "".join(
        f'<rect class="{"dot" if kind == "H" else "axis"}" x="{x - SIDE // 2}"'
        f' y="{y - SIDE // 2}" width="{SIDE}" height="{SIDE}"/>'
        for kind, (x, y) in ((LAKE[state], middle(state)) for state in range(16))
    )
    lines = "".join(
        f'<path class="shaft ink line" d="{shaft}" stroke-dasharray="{dash}"/>'
        f'<path class="head ink line" d="{head}"/>'
        for shaft, dash, head in zip(shafts, dashes, heads, strict=True)
    )
    texts = "".join(
        f'<text class="number" x="{middle(state)[0] + 40}" y="{middle(state)[1] + 38}"'
        f' text-anchor="end">{number}</text>'
        for state, number in zip(FIELDS, numbers, strict=True)
    )
    letters = "".join(
        f'<text x="{middle(state)[0] - 40}" y="{middle(state)[1] - 31}">{kind}</text>'
        for state, kind in enumerate(LAKE)
        if kind in "SHG"
    )
    return fields + frames + lines + texts + letters


def triangle(state: int, action: int) -> str:
    """The side of a field to which an action leads."""
    (x, y), (dx, dy), half = middle(state), DIRECTIONS[action], SIDE // 2
    corners = [
        (x + half * (dx + sign * dy), y + half * (dy + sign * dx)) for sign in (-1, 1)
    ]
    return f"M{x} {y}" + "".join(f"L{a} {b}" for a, b in corners) + "Z"


def arrow(state: int, action: int | None) -> tuple[str, str]:
    """Shaft and head of an arrow in the middle of a field, or a dot and nothing."""
    x, y = middle(state)
    if action is None:
        return f"M{x - 1} {y}h2", ""
    dx, dy = DIRECTIONS[action]
    (a, b), (c, d) = (
        (x + 12 * dx + 7 * sign * dy, y + 12 * dy + 7 * sign * dx) for sign in (-1, 1)
    )
    tip = f"{x + 20 * dx} {y + 20 * dy}"
    return f"M{x - 20 * dx} {y - 20 * dy}L{tip}", f"M{a} {b}L{tip}L{c} {d}"


def middle(state: int) -> tuple[int, int]:
    """Pixels of the middle of a field."""
    row, column = divmod(state, 4)
    return LEFT + SIDE // 2 + SIDE * column, TOP + SIDE // 2 + SIDE * row
