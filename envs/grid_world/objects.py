"""Random objects of a grid, the named goal among them, and shortest paths."""

from collections.abc import Sequence
from itertools import product

import torch
from torch import Tensor

COLORS = {
    "red": (210, 70, 60),
    "green": (80, 160, 80),
    "blue": (70, 110, 200),
    "yellow": (235, 190, 60),
}
NORTH, EAST, SOUTH, WEST = range(4)
SHAPES = ("square", "circle", "triangle")
KINDS = list(product(COLORS, SHAPES))

HELD_OUT = (("red", "circle"), ("green", "triangle"), ("blue", "square"))
"""Kinds that `goals="seen"` never names, and the only ones that `goals="unseen"` names.
Each of their words also occurs in other kinds."""

NAMEABLE = {
    "all": list(range(len(KINDS))),
    "seen": [i for i, kind in enumerate(KINDS) if kind not in HELD_OUT],
    "unseen": [i for i, kind in enumerate(KINDS) if kind in HELD_OUT],
}
"""Argument `goals` -> indices of the kinds that instructions name."""


def sentences(templates: Sequence[str]) -> list[str]:
    """Every template with every kind, in the order of `KINDS` for each template."""
    return [t.format(color=c, shape=s) for t in templates for c, s in KINDS]


def distinct(noise: Tensor, options: int) -> Tensor:
    """Draw `k` of 0 ... `options` - 1 without replacement, with noise `[k, N]`: draw i
    is an index among the `options - i` remaining ones."""
    drawn: list[Tensor] = []
    for i, u in enumerate(noise):
        number = (u * (options - i)).long().clamp(max=options - i - 1)
        if drawn:
            for gone in torch.stack(drawn).sort(0).values:
                number = number + (number >= gone)
        drawn.append(number)
    return torch.stack(drawn)


def distinct_with_goal(noise: Tensor, goal: Tensor, nameable: Tensor) -> Tensor:
    """`distinct` kinds, with a `nameable` one for the object `goal` `[N]`."""
    (choice,) = distinct(noise[:1], len(nameable))
    named = nameable[choice]
    if len(noise) == 1:
        return named.unsqueeze(0)
    others = distinct(noise[1:], len(KINDS) - 1)
    others = others + (others >= named)  # skips the named kind
    place = torch.arange(len(noise), device=goal.device).unsqueeze(1)
    # The named kind is put at `goal`; the others fill the remaining places.
    source = (place - (place > goal).long()).clamp(max=len(noise) - 2)
    return torch.where(place == goal, named, others.gather(0, source))


def cells_ahead(height: int, width: int, device: torch.device) -> Tensor:
    """The cells to which moves lead, int64 `[4, cells]`; at a wall the cell itself."""
    cell = torch.arange(height * width, device=device)
    row, column = cell // width, cell % width
    north, south = (row - 1).clamp(min=0), (row + 1).clamp(max=height - 1)
    west, east = (column - 1).clamp(min=0), (column + 1).clamp(max=width - 1)
    places = (north, column), (row, east), (south, column), (row, west)
    return torch.stack([row * width + column for row, column in places])


def first_moves(start: Tensor, goal: Tensor, barred: Tensor, ahead: Tensor) -> Tensor:
    """The first moves `[N]` of shortest paths.

    Value iteration of the number of steps, without synchronization: after as many
    sweeps as there are cells, all paths are found. Among equally long paths, the move
    with the smaller number is taken. If there is no path, the move leads to a cell that
    is not barred.

    Args:
        start: Cells, int64 `[N]`.
        goal: Cells, int64 `[N]`.
        barred: Cells that no path may cross, except goals, int64 `[K, N]`.
        ahead: Those of `cells_ahead`.
    """
    n, cells = len(start), ahead.shape[1]
    walls = torch.zeros(n, cells, dtype=torch.bool, device=start.device)
    walls = walls.scatter(1, barred.T, True).scatter(1, goal.unsqueeze(1), False)
    # Free cells without a path keep the initial number.
    steps = torch.full_like(walls, cells, dtype=torch.int64)
    steps = steps.scatter(1, goal.unsqueeze(1), 0)
    for _ in range(cells):
        steps = steps.masked_fill(walls, 2 * cells)
        steps = torch.minimum(steps, steps[:, ahead].amin(1) + 1)
    steps = steps.masked_fill(walls, 2 * cells)
    return steps.gather(1, ahead[:, start].T).argmin(1)
