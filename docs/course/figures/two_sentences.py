"""Chapter 16's figure: one picture, two sentences, two walks.

The walks are those of the environment's own expert, or of a small policy that has
cloned it while the figure was made, with where it looks at first. That policy is the
ten lines of the chapter: cells of a grid are looked at by softmax attention; the query
is the sum of what a sentence's tokens stand for, and that is all that is learned.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from yieldrl.envs.grid_world import COLORS, KINDS, GoToVectorEnv

from . import drawing as svg
from .drawing import Frame, Grid

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


def taught(reader: Reader, words: np.ndarray, *rest: np.ndarray) -> dict:
    """What is learned `[tokens, 7]`, after so many of `STEPS`."""
    tokens, size = reader
    meaning, rng, kept = np.zeros((size, 7)), np.random.default_rng(0), {}
    words = tokens(words)
    for step in range(STEPS[-1] + 1):
        if step in STEPS:
            kept[step] = meaning.copy()
        rows = rng.integers(len(words), size=128)
        clone(meaning, words[rows], *(column[rows] for column in rest))
    return kept


STEPS = [0, 1, 2, 5, 10, 20, 50, 100, 300]
THINGS: dict[int, tuple[str, Any]] = {
    10: ("red", "square"),
    30: ("blue", "circle"),
    6: ("red", "circle"),
    29: ("green", "triangle"),
}
"""Cell -> what lies there; of the latter two no sentence of the training speaks."""
AGENT, LONGEST = 26, 12  # where a walk begins, and how many steps of it are drawn
ASKED = {"named in training": (10, 30), "never named": (6, 29)}
"""Where the things lie that the two sentences name."""
SIDE, TOP = 36, 26  # of a cell, and of both grids, in pixels
GRIDS = Grid(6, SIDE, 12, TOP), Grid(6, SIDE, 252, TOP)
OUTLINES = {
    "circle": "m-10 0a10 10 0 0 0 20 0a10 10 0 0 0-20 0z",
    "square": "m-9-9h18v18h-18z",
    "triangle": "m0-11l11 20h-22z",
}
"""Around the middle of a cell."""


def figure() -> dict[str, Any]:
    """All frames: who walks, what is asked for, and how much was learned."""
    shown = demonstrated()
    learned = {name: taught(reader, *shown) for name, reader in READERS.items()}

    def frame(walker: str, goals: tuple[int, int], steps: int) -> Frame:
        who, mind = "The expert", None
        if walker in READERS:
            who = f"Who {walker}, after {steps} gradient steps"
            mind = READERS[walker][0], learned[walker][steps]
        walks = [walk(goal, mind) for goal in goals]
        both = svg.each(
            {
                "walk d": svg.joined(map(grid.middle, cells)),
                "told text": f"go to the {' '.join(THINGS[goal])}",
                "came text": ending(cells, goal),
            }
            for (cells, _), goal, grid in zip(walks, goals, GRIDS, strict=True)
        )
        pairs = zip(both["told text"], both["came text"], strict=True)
        looks = [round(0.85 * share, 2) or 0 for _, look in walks for share in look]
        said = f"{who}. {'; '.join(f'“{told}”: {end}' for told, end in pairs)}."
        return {"look fill-opacity": looks, **both, "says text": said}

    return svg.figure(
        size=(480, 274),
        svg="".join(map(drawing, GRIDS)),
        controls={
            "who goes": svg.labelled((*READERS, "expert")),
            "things": ASKED,
            "steps": svg.labelled(STEPS),
        },
        start=("reads word by word", "named in training", "300"),
        frame=frame,
    )


def walk(goal: int, mind: tuple[Any, np.ndarray] | None) -> tuple[list[int], Any]:
    """The cells on the way to a thing, and the attention at the first of them, `[36]`.

    The expert walks, or who has a mind: a way to read, and what it has learned.
    """
    envs, cells, looks = GoToVectorEnv(1, num_objects=len(THINGS)), [AGENT], []
    state = {
        "agent": torch.tensor([AGENT]),
        "goal": torch.tensor([[*THINGS].index(goal)]),
        "template": torch.tensor([0]),
        "objects": torch.tensor([[cell] for cell in THINGS]),
        "kinds": torch.tensor([[KINDS.index(kind)] for kind in THINGS.values()]),
    }
    ended: Any = False
    while len(cells) <= LONGEST and not ended:
        if mind is None:
            envs.state = state
            action, look = envs.expert(), np.zeros((1, 36))
        else:
            obs, (reads, meaning) = envs.observe(state), mind
            words = reads(obs["instruction"].numpy())
            look, moves = policy(meaning, words, *seen(obs["image"]))
            action = torch.as_tensor(moves.argmax(1))
        looks.append(look[0])
        state, _, ended = envs.dynamics(state, action)
        cells.append(int(state["agent"]))
    return cells, looks[0]


def ending(cells: list[int], goal: int) -> str:
    """What came of a walk, in words."""
    last = cells[-1]
    if last not in THINGS:
        return "does not arrive"
    if last == goal:
        return f"there after {len(cells) - 1} steps"
    return f"at the {' '.join(THINGS[last])}"


def drawing(grid: Grid) -> str:
    """One of the grids with its things, each with a rim that shows on any ground."""
    x = grid.left + 3 * SIDE
    all_of = svg.label(x, 16, anchor="middle", class_="told")
    for corner in map(grid.corner, range(36)):
        all_of += svg.box("look shade", *corner, SIDE, SIDE)
        all_of += svg.box("axis", *corner, SIDE, SIDE, style="stroke-opacity:.3")
    for cell, (color, form) in THINGS.items():
        d = "M{} {}".format(*grid.middle(cell)) + OUTLINES[form]
        fill = "rgb({} {} {})".format(*COLORS[color])
        all_of += svg.tag("path", d=d, fill=fill, stroke="#fff", stroke_width=1.2)
    all_of += svg.line("walk ink line dashed")
    all_of += svg.dot("ink line", *grid.middle(AGENT), r=13)
    return all_of + svg.label(x, TOP + 6 * SIDE + 18, anchor="middle", class_="came")
