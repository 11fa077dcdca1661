"""What lies in a grid, drawn by chance, of which one is named; and ways to it."""

import re
from collections.abc import Sequence
from itertools import product
from math import comb

import torch
from torch import Tensor
from torch.nn.functional import max_pool2d

COLORS = {
    "red": (210, 70, 60),
    "green": (80, 160, 80),
    "blue": (70, 110, 200),
    "yellow": (235, 190, 60),
}
SHAPES = ("square", "circle", "triangle")
KINDS = list(product(COLORS, SHAPES))

HELD_OUT = (("red", "circle"), ("green", "triangle"), ("blue", "square"))
"""Kinds that `goals="seen"` never names and `goals="unseen"` names alone. All of their
words are those of others too."""

NAMEABLE = {
    "all": list(range(len(KINDS))),
    "seen": [i for i, kind in enumerate(KINDS) if kind not in HELD_OUT],
    "unseen": [i for i, kind in enumerate(KINDS) if kind in HELD_OUT],
}
"""The numbers of the kinds that instructions name, by the argument `goals`."""


def sentences(templates: Sequence[str]) -> list[str]:
    """Every template with every kind, in the order of `KINDS` for each template."""
    return [t.format(color=c, shape=s) for t in templates for c, s in KINDS]


def deaf_return(num_objects: int, nameable: int, wrong_reward: float) -> float:
    """The most that a policy can expect that does not know the instruction.

    If M of a grid's objects are of the `nameable` kinds, each of them is meant with a
    chance of 1 / M. There are M - 1 besides the one that is meant with the chance that
    as many are among `num_objects` - 1 of the other kinds.
    """
    others, beside = len(KINDS) - 1, num_objects - 1
    total = 0.0
    for more in range(min(nameable - 1, beside) + 1):
        ways = comb(nameable - 1, more) * comb(len(KINDS) - nameable, beside - more)
        chance = 1 / (more + 1)
        best = max(0.0, chance + (1 - chance) * wrong_reward)
        total += ways / comb(others, beside) * best
    return total


def check(
    height: int,
    width: int,
    num_objects: int,
    wrong_reward: float,
    templates: Sequence[str],
) -> None:
    """Raise ValueError if there can be no such grid, or no such instruction."""
    if not 1 <= num_objects <= len(KINDS):
        raise ValueError(
            f"num_objects = {num_objects}: there are 1 to {len(KINDS)} kinds of them"
        )
    if min(height, width) < 1 or height * width <= num_objects:
        raise ValueError(
            f"height = {height}, width = {width}: no room for {num_objects} objects"
            " and the agent"
        )
    if wrong_reward >= 1:
        raise ValueError(
            f"wrong_reward = {wrong_reward}: must be below 1, the reward of the right"
            " one"
        )
    for template in templates:
        if sorted(re.findall(r"\{(\w*)\}", template)) != ["color", "shape"]:
            raise ValueError(
                f"templates: {template!r} must name {{color}} and {{shape}} once, or"
                " the instruction would be ambiguous"
            )
    if not templates:
        raise ValueError("templates = (): give one sentence at least")


def distinct(noise: Tensor, options: int) -> Tensor:
    """Draw `k` of 0 ... `options` - 1 without repetition, from noise `[k, N]`: the i-th
    takes one of the `options - i` that are left, counted past those that are gone."""
    drawn: list[Tensor] = []
    for i, u in enumerate(noise):
        number = (u * (options - i)).long().clamp(max=options - i - 1)
        if drawn:
            for gone in torch.stack(drawn).sort(0).values:
                number = number + (number >= gone)
        drawn.append(number)
    return torch.stack(drawn)


def distinct_with_goal(noise: Tensor, goal: Tensor, nameable: Tensor) -> Tensor:
    """`distinct` kinds, where that of the object `goal` `[N]` is one of `nameable`."""
    (choice,) = distinct(noise[:1], len(nameable))
    named = nameable[choice]
    if len(noise) == 1:
        return named.unsqueeze(0)
    others = distinct(noise[1:], len(KINDS) - 1)
    others = others + (others >= named)  # counted past the one that is gone
    place = torch.arange(len(noise), device=goal.device).unsqueeze(1)
    # The first one of the others goes to the end that the named one leaves free.
    source = (place - (place > goal).long()).clamp(max=len(noise) - 2)
    return torch.where(place == goal, named, others.gather(0, source))


def first_moves(
    start: Tensor, goal: Tensor, barred: Tensor, height: int, width: int
) -> Tensor:
    """The first moves `[N]` of shortest ways, 0 north, 1 east, 2 south, 3 west.

    Value iteration with a reward of -1 a step, which never waits for the device: after
    as many sweeps as there are cells every way is found. Of ways that are equally long
    the one whose move has the smaller number is taken. Where there is no way, the move
    is one that leads to no barred cell.

    Args:
        start: Cells, int64 `[N]`.
        goal: Cells, int64 `[N]`.
        barred: Cells that no way leads through, unless they are goals, int64 `[K, N]`.
        height: Rows of cells.
        width: Cells of a row.
    """
    cells, n = height * width, len(start)
    walls = torch.zeros(n, cells, device=start.device).scatter(1, barred.T, 1.0)
    walls = walls.scatter(1, goal.unsqueeze(1), 0.0).bool().view(n, 1, height, width)
    # Steps to the goal, negative. Free cells without a way keep the first number.
    values = torch.full((n, cells), float(-cells), device=start.device)
    values = values.scatter(1, goal.unsqueeze(1), 0.0).view(n, 1, height, width)
    for _ in range(cells - 1):
        values = values.masked_fill(walls, -2.0 * cells)
        along_columns = max_pool2d(values, (3, 1), stride=1, padding=(1, 0))
        along_rows = max_pool2d(values, (1, 3), stride=1, padding=(0, 1))
        best = torch.maximum(along_columns, along_rows) - 1
        values = torch.maximum(values, best.clamp(min=-cells))
    values = values.masked_fill(walls, -2.0 * cells).view(n, cells)
    row, column = start // width, start % width
    neighbours = torch.stack(  # [4, N], in the order of the actions
        (
            (row - 1).clamp(min=0) * width + column,
            row * width + (column + 1).clamp(max=width - 1),
            (row + 1).clamp(max=height - 1) * width + column,
            row * width + (column - 1).clamp(min=0),
        )
    )
    return values.gather(1, neighbours.T).argmax(1)
