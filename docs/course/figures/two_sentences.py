"""Chapter 16's figure: one picture, two sentences, two walks.

The walks are those of the environment's own expert, or of a small policy that has
cloned it while the figure was made, with where it looks at first. That policy is the
ten lines of the chapter: cells of a grid are looked at by softmax attention; the query
is the sum of what a sentence's tokens stand for, and that is all that is learned.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from yieldrl.envs.grid_world import COLORS, KINDS, GoToVectorEnv

from . import drawing as svg
from .drawing import Frame

Reader = tuple[Callable[[np.ndarray], np.ndarray], int]
ROW, COLUMN = np.divmod(np.arange(36), 6)
READERS: dict[str, Reader] = {
    "reads word by word": (lambda words: words, 12),
    "reads it as a whole": (lambda words: words @ 12 ** np.arange(5)[:, None], 12**5),
}
"""How a sentence becomes tokens, `[B, 5]` or `[B, 1]`, and how many there can be."""


def softmax(x: np.ndarray) -> np.ndarray:
    """Over the last axis."""
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def seen(image: object) -> tuple[np.ndarray, np.ndarray]:
    """What lies in each cell `[B, 36, 7]`, and which moves lead nearer `[B, 36, 4]`."""
    cells = np.asarray(image).reshape(-1, 36, 8)
    agent = cells[:, :, :1].argmax(1)
    south, east = ROW - agent // 6, COLUMN - agent % 6
    nearer = np.stack([south < 0, east > 0, south > 0, east < 0], -1)
    return cells[:, :, 1:], nearer.astype(float)


def policy(
    meaning: np.ndarray, words: np.ndarray, things: np.ndarray, nearer: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Where it looks `[B, 36]`, and how likely each move is `[B, 4]`."""
    query = meaning[words].sum(1)
    looks = softmax(np.einsum("bcf,bf->bc", things, query))
    return looks, softmax(5 * np.einsum("bc,bcm->bm", looks, nearer))


def clone(
    meaning: np.ndarray,
    words: np.ndarray,
    things: np.ndarray,
    nearer: np.ndarray,
    action: np.ndarray,
) -> None:
    """One step up the gradient of `log pi(action)`, in place."""
    looks, moves = policy(meaning, words, things, nearer)
    push = np.einsum("bcm,bm->bc", nearer, 5 * (np.eye(4)[action] - moves))
    push = looks * (push - (looks * push).sum(1, keepdims=True))
    push = np.einsum("bcf,bc->bf", things, push) / len(action)
    np.add.at(meaning, words, 2.0 * push[:, None])


def demonstrated() -> list[np.ndarray]:
    """What an expert is told, sees and does in 2 048 steps; some pairs go unnamed."""
    envs, rows = GoToVectorEnv(64, goals="seen"), []
    obs, _ = envs.reset(seed=0)
    for _ in range(32):
        action = envs.expert()
        rows.append((obs["instruction"].numpy(), *seen(obs["image"]), action.numpy()))
        obs, *_ = envs.step(action)
    return [np.concatenate(column) for column in zip(*rows, strict=True)]


def taught(
    reader: Reader, demonstrations: list[np.ndarray], after: list[int]
) -> list[np.ndarray]:
    """What is learned `[tokens, 7]`, after so many steps each, in rising order."""
    (tokens, size), (words, *rest) = reader, demonstrations
    meaning, rng, kept = np.zeros((size, 7)), np.random.default_rng(0), []
    words = tokens(words)
    for step in range(after[-1] + 1):
        if step in after:
            kept.append(meaning.copy())
        rows = rng.integers(len(words), size=128)
        clone(meaning, words[rows], *(column[rows] for column in rest))
    return kept


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


class Walk(NamedTuple):
    """The cells of a walk, and the attention at its first cell, `[36]`."""

    cells: list[int]
    looks: np.ndarray


def figure() -> dict[str, Any]:
    """All frames: who walks, what is asked for, and how much was learned."""
    found = learned()
    return svg.figure(
        size=(480, 274),
        svg="".join(map(drawing, LEFT)),
        controls={
            "who goes": svg.labelled(WALKERS),
            "things": ASKED,
            "steps": svg.labelled(STEPS),
        },
        start=(WALKERS[0], "named in training", "300"),
        frame=lambda walker, goals, steps: frame(
            walker, goals, steps, found.get((walker, steps))
        ),
    )


def learned() -> dict[tuple[str, int], np.ndarray]:
    """What the readers have learned, by name and gradient steps."""
    shown = demonstrated()
    return {
        (name, steps): meaning
        for name, reader in READERS.items()
        for steps, meaning in zip(STEPS, taught(reader, shown, STEPS), strict=True)
    }


def frame(
    walker: str, goals: tuple[int, int], steps: int, meaning: np.ndarray | None
) -> Frame:
    """Both grids for one choice."""
    walks = [walk(walker, goal, meaning) for goal in goals]
    both = svg.each(
        {
            "walk d": svg.joined(place(number, left) for number in of.cells),
            "told text": " ".join(("go to the", *thing(goal))),
            "came text": ending(of, goal),
        }
        for of, goal, left in zip(walks, goals, LEFT, strict=True)
    )
    who = f"Who {walker}, after {steps} gradient steps"
    who = "The expert" if walker == "expert" else who
    pairs = zip(both["told text"], both["came text"], strict=True)
    looks = [round(0.85 * share, 2) or 0 for of in walks for share in of.looks]
    said = f"{who}. {'; '.join(f'“{told}”: {end}' for told, end in pairs)}."
    return {"look fill-opacity": looks, **both, "says text": said}


def walk(walker: str, goal: int, meaning: np.ndarray | None) -> Walk:
    """The walk of the expert, or of the policy that has learned `meaning`."""
    envs, state = world(goal)
    cells, first = [AGENT], np.zeros(36)
    while len(cells) <= LONGEST:
        if meaning is None:
            envs.state = state
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
    """The grid of the figure, and its state where `goal` is meant."""
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


def drawing(left: int) -> str:
    """One of the grids with its things."""
    middle = left + 3 * SIDE
    corners = [
        (x - SIDE // 2, y - SIDE // 2) for x, y in (place(i, left) for i in range(36))
    ]
    cells = "".join(
        svg.box("look shade", *corner, SIDE, SIDE)
        + svg.box("axis", *corner, SIDE, SIDE, style="stroke-opacity:.3")
        for corner in corners
    )
    things = "".join(shape(*place(i, left), *kind) for i, kind in THINGS.items())
    return svg.parts(
        svg.label(middle, 16, anchor="middle", class_="told"),
        cells,
        things,
        svg.line("walk ink line dashed"),
        svg.dot("ink line", *place(AGENT, left), r=13),
        svg.label(middle, TOP + 6 * SIDE + 18, anchor="middle", class_="came"),
    )


def shape(x: int, y: int, color: str, form: str) -> str:
    """A thing, in its colour, with a rim that shows on any ground."""
    fill = "rgb({} {} {})".format(*COLORS[color])
    look = {"fill": fill, "stroke": "#fff", "stroke_width": 1.2}
    if form == "circle":
        return svg.tag("circle", cx=x, cy=y, r=10, **look)
    if form == "square":
        return svg.tag("rect", x=x - 9, y=y - 9, width=18, height=18, **look)
    return svg.tag("path", d=f"M{x} {y - 11}L{x + 11} {y + 9}H{x - 11}Z", **look)


def place(number: int, left: int) -> tuple[int, int]:
    """The middle of a cell, in pixels."""
    row, column = divmod(number, 6)
    return left + SIDE * column + SIDE // 2, TOP + SIDE * row + SIDE // 2
