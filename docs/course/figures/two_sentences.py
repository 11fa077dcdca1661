"""Chapter 16's figure: one picture, two sentences, two walks.

The walks are those of the environment's own expert, or of a small policy that has
cloned it while the figure was made (`listener.py`), with where it looks at first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch

from yieldrl.envs.grid_world import COLORS, KINDS, GoToVectorEnv

from .listener import READERS, demonstrated, policy, seen, taught

STEPS = [0, 1, 2, 5, 10, 20, 50, 100, 300]
THINGS = {
    10: ("red", "square"),
    30: ("blue", "circle"),
    6: ("red", "circle"),
    29: ("green", "triangle"),
}
"""Cell -> what lies there; of the latter two no sentence of the training speaks."""
AGENT = 26
ASKED = {"named in training": (0, 1), "never named": (2, 3)}
"""Which things the two sentences name."""
WALKERS = (*READERS, "expert")
LONGEST = 12  # steps of a walk that is drawn
SIDE, TOP, LEFT = 36, 26, (12, 252)  # of a cell, and of both grids, in pixels
CAPTION = """\
The same grid of GoTo twice, told two things. The ring is the agent; dashed is where it
goes. The bluer a cell, the more of its attention the policy gives it when it begins.
It has cloned an expert for so many gradient steps, in grids with three things each, and
red circles and green triangles were never named meanwhile. The expert knows what is
meant, and looks at nothing."""


class Walk(NamedTuple):
    """Cells from the agent's on, and where was looked from the first, `[36]`."""

    cells: list[int]
    looks: np.ndarray


def figure() -> dict[str, Any]:
    """All frames: who walks, what is asked for, and how much was learned."""
    found = learned()
    shown = [
        frame(walker, asked, steps, found)
        for walker in WALKERS
        for asked in ASKED
        for steps in STEPS
    ]
    start = (0, 0, len(STEPS) - 1)
    return {
        "title": "One picture, two sentences, two walks",
        "caption": CAPTION,
        "size": (480, 274),
        "svg": drawing(shown[start[-1]]),
        "controls": {
            "who goes": list(WALKERS),
            "things": list(ASKED),
            "steps": [str(steps) for steps in STEPS],
        },
        "start": start,
        "parts": PARTS,
        "frames": shown,
    }


PARTS = [(".look", "fill-opacity"), (".walk", "d"), (".told", "text")]
PARTS += [(".came", "text"), (".says", "text")]


def learned() -> dict[tuple[str, int], np.ndarray]:
    """What the readers have learned, by name and gradient steps."""
    shown = demonstrated()
    return {
        (name, steps): meaning
        for name, reader in READERS.items()
        for steps, meaning in zip(STEPS, taught(reader, shown, STEPS), strict=True)
    }


def frame(
    walker: str, asked: str, steps: int, found: dict[tuple[str, int], np.ndarray]
) -> list[Any]:
    """The values of `PARTS` for one choice."""
    goals = ASKED[asked]
    walks = [walk(walker, goal, found.get((walker, steps))) for goal in goals]
    ends = [ending(of, goal) for of, goal in zip(walks, goals, strict=True)]
    told = [" ".join(("go to the", *thing(goal))) for goal in goals]
    who = f"Who {walker}, after {steps} gradient steps"
    who = "The expert" if walker == "expert" else who
    said = "; ".join(f"“{t}”: {e}" for t, e in zip(told, ends, strict=True))
    return [
        [round(0.85 * share, 2) or 0 for of in walks for share in of.looks],
        [line(of, left) for of, left in zip(walks, LEFT, strict=True)],
        told,
        ends,
        f"{who}. {said}.",
    ]


def walk(walker: str, goal: int, meaning: np.ndarray | None) -> Walk:
    """The way to what is meant, of the expert or of who has learned `meaning`."""
    envs, state = world(goal)
    cells, first = [AGENT], np.zeros(36)
    while len(cells) <= LONGEST:
        if meaning is None:
            envs.state = envs.fold(state)
            action = envs.expert()
        else:
            obs, (reads, _) = envs.observe(state), READERS[walker]
            words = reads(obs["instruction"].numpy())
            looks, moves = policy(meaning, words, *seen(obs["image"]))
            first = looks[0] if len(cells) == 1 else first
            action = torch.as_tensor(moves.argmax(1))
        state, _, ended = envs.dynamics(state, action)
        cells.append(int(state["agent"]))
        if ended:
            break
    return Walk(cells, first)


def world(goal: int) -> tuple[GoToVectorEnv, dict[str, torch.Tensor]]:
    """The grid of the figure, and its state where so-and-so is meant."""
    known: list[tuple[str, str]] = list(KINDS)
    kinds = [known.index(kind) for kind in THINGS.values()]
    numbers = {"agent": AGENT, "goal": goal, "template": 0}
    state = {name: torch.tensor([number]) for name, number in numbers.items()}
    state["objects"] = torch.tensor(list(THINGS)).unsqueeze(1)
    state["kinds"] = torch.tensor(kinds).unsqueeze(1)
    return GoToVectorEnv(1, num_objects=len(THINGS)), state


def thing(index: int) -> tuple[str, str]:
    """Colour and shape of one of the things."""
    return list(THINGS.values())[index]


def ending(of: Walk, goal: int) -> str:
    """What came of a walk, in words."""
    last, steps = of.cells[-1], len(of.cells) - 1
    if last not in THINGS:
        return "does not arrive"
    if last == list(THINGS)[goal]:
        return f"there after {steps} steps"
    return f"at the {' '.join(THINGS[last])}"


def drawing(first: list[Any]) -> str:
    """Both grids with their things, and all parts as the first frame has them."""
    looks, walks, told, came, _ = first
    shades, parts = iter(looks), []
    for left, way, sentence, end in zip(LEFT, walks, told, came, strict=True):
        middle = left + 3 * SIDE
        parts += [
            f'<text class="told" x="{middle}" y="16" text-anchor="middle">'
            f"{sentence}</text>",
            *(cell(number, left, next(shades)) for number in range(36)),
            *(shape(number, kind, left) for number, kind in THINGS.items()),
            f'<path class="walk ink line dashed" d="{way}"/>',
            ring(left),
            f'<text class="came" x="{middle}" y="{TOP + 6 * SIDE + 18}"'
            f' text-anchor="middle">{end}</text>',
        ]
    return "".join(parts)


def ring(left: int) -> str:
    """The agent, where it begins."""
    x, y = place(AGENT, left)
    return f'<circle class="ink line" r="13" cx="{x}" cy="{y}"/>'


def cell(number: int, left: int, opacity: float) -> str:
    """A cell, and how much it is looked at."""
    x, y = place(number, left)
    box = f'x="{x - SIDE // 2}" y="{y - SIDE // 2}" width="{SIDE}" height="{SIDE}"'
    return (
        f'<rect class="look shade" {box} fill-opacity="{opacity}"/>'
        f'<rect class="axis" style="stroke-opacity:.3" {box}/>'
    )


def shape(number: int, kind: tuple[str, str], left: int) -> str:
    """A thing, in its colour, with a rim that shows on any ground."""
    (x, y), (color, form) = place(number, left), kind
    red, green, blue = COLORS[color]
    look = f'fill="rgb({red} {green} {blue})" stroke="#fff" stroke-width="1.2"'
    if form == "circle":
        return f'<circle cx="{x}" cy="{y}" r="10" {look}/>'
    if form == "square":
        return f'<rect x="{x - 9}" y="{y - 9}" width="18" height="18" {look}/>'
    return f'<path d="M{x} {y - 11}L{x + 11} {y + 9}H{x - 11}Z" {look}/>'


def line(of: Walk, left: int) -> str:
    """The way from the ring on, in pixels; a step against a wall is none."""
    points = [place(number, left) for number in of.cells]
    return "M" + "L".join(f"{x} {y}" for x, y in points)


def place(number: int, left: int) -> tuple[int, int]:
    """The middle of a cell, in pixels."""
    row, column = divmod(number, 6)
    return left + SIDE * column + SIDE // 2, TOP + SIDE * row + SIDE // 2
