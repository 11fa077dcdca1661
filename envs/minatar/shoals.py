"""Swimmers of Seaquest as bits of an int64: where each is, and when it moves on.

A swimmer waits some steps, 5 at most, between its moves. So a row of the board, ten
columns, has 60 places: the bit 6 x + t is set if in column x there is a swimmer that
moves on in t steps. Then a step of all of them is a handful of operations.

No two share a place. They come in one by one, wait equally long and leave at the other
side. Only when the speed rises by one may the one behind gain a step on the one before,
and that is three times in a game, while they still come in at least 14 steps apart.
"""

from __future__ import annotations

import torch
from torch import Tensor

COLUMN = 6  # bits
CELL = 2**COLUMN - 1  # all places of column 0
BOARD = 2 ** (10 * COLUMN) - 1
NOW = BOARD // CELL  # the places of those that move now: one in each column


def spot(x: Tensor, wait: Tensor | int = 0) -> Tensor:
    """The place in column `x` of one that moves on in `wait` steps; 0 if outside."""
    place = COLUMN * x + wait
    return torch.where((x >= 0) & (x < 10), 1 << place.long(), 0)


def below(x: Tensor) -> Tensor:
    """A bit for each column below `x`."""
    return ((1 << (COLUMN * x).long()) - 1) & NOW


def columns(swimmers: Tensor) -> Tensor:
    """A bit for each column where there is anybody."""
    two = swimmers | swimmers >> 1
    return (two | two >> 2 | two >> 4) & NOW


def ahead(places: Tensor, way: Tensor) -> Tensor:
    """The same places one column further on, to the right where `way` is above 0."""
    return torch.where(way > 0, (places << COLUMN) & BOARD, places >> COLUMN)


def swim(swimmers: Tensor, way: Tensor, speed: Tensor) -> Tensor:
    """Those that wait wait a step less, the others move on and wait `speed` steps."""
    moving = swimmers & NOW
    return (swimmers ^ moving) >> 1 | ahead(moving, way) << speed


def cells(bits: Tensor) -> Tensor:
    """All places of the columns of which there is a bit."""
    return (bits << COLUMN) - bits


def oldest(swimmers: Tensor) -> Tensor:
    """Of those in one cell the one that came first, which moves on first."""
    some = columns(swimmers)
    return swimmers & ((cells(some) ^ swimmers) + some)  # x & -x in each cell


def launch(bits: Tensor, way: Tensor) -> Tensor:
    """Missiles in these columns: the first place of those to the right, the second."""
    return torch.where(way > 0, bits, bits << 1)


def fly(missiles: Tensor) -> Tensor:
    """Each of them one column further on."""
    right, left = missiles & NOW, missiles & (NOW << 1)
    return (right << COLUMN) & BOARD | left >> COLUMN


def count(bits: Tensor) -> Tensor:
    """How many bits `[K, N]` are set, two at most in each number: int32 `[N]`."""
    return ((bits != 0).int() + (bits & (bits - 1) != 0).int()).sum(0).int()


def in_lane(y: Tensor, x: Tensor, first: int = 1) -> Tensor:
    """`x` in the lane of row `y` `[N]`, 0 in the others, of the rows `first` to 8."""
    lanes = torch.arange(first, 9, dtype=torch.int32, device=y.device)
    return torch.where(lanes[:, None] == y, x, 0)
