"""Swimmers of Seaquest as bits of an int64: the column and the wait of each.

A swimmer waits at most 5 steps between moves. So a row of the board, ten columns, has
60 places: bit 6 x + t is set if column x has a swimmer that moves in t steps. Then a
step of all swimmers takes a few bit operations.

No two share a place: they come in one by one and wait equally long. Only when the speed
rises can the one behind gain a step on the one in front, three times in a game, while
they still come in at least 14 steps apart.

All numbers are int64, and flags are masks with no bit or all bits set: in compiled
code, other sizes and conditions cost more.
"""

import torch
from torch import Tensor

LANES = 8  # rows 1 to 8 of the board, with swimmers
COLUMN = 6  # bits
CELL = 2**COLUMN - 1  # all places of column 0
BOARD = 2 ** (10 * COLUMN) - 1
NOW = BOARD // CELL  # places with wait 0: one in each column
OTHERS = BOARD - (NOW << COLUMN - 1)  # all but the last place of each column


def place(x: Tensor, wait: Tensor | int = 0) -> Tensor:
    """The place in column `x` of a swimmer that moves in `wait` steps."""
    return 1 << (COLUMN * x + wait).long()


def spot(x: Tensor) -> Tensor:
    """The first place in column `x`, 0 if outside the board."""
    return torch.where((x >= 0) & (x < 10), place(x), 0)


def below(x: Tensor) -> Tensor:
    """A bit for each column below `x`."""
    return ((1 << (COLUMN * x).long()) - 1) & NOW


def columns(swimmers: Tensor) -> Tensor:
    """A bit for each column with a swimmer."""
    # The carry sets the last bit of a cell if any other bit is set.
    return (((swimmers & OTHERS) + OTHERS | swimmers) >> COLUMN - 1) & NOW


def cells(bits: Tensor) -> Tensor:
    """All places of the columns whose bit is set."""
    return (bits << COLUMN) - bits


def count(bits: Tensor) -> Tensor:
    """The number of set bits in columns `[K, N]`, below 64: int32 `[N]`."""
    # Sum each column in its cell; the product adds all cells in the last one.
    return ((bits.sum(0) * NOW >> 9 * COLUMN) & CELL).int()


def ahead(places: Tensor, left: Tensor) -> Tensor:
    """Places moved by one column, to the left where the mask is set."""
    return (places << COLUMN) & (BOARD & ~left) | (places >> COLUMN) & left


def swim(swimmers: Tensor, left: Tensor, speed: Tensor) -> Tensor:
    """Decrease all waits; swimmers with wait 0 move and then wait `speed` steps."""
    moving = swimmers & NOW
    return (swimmers ^ moving) >> 1 | ahead(moving, left) << speed


def oldest(swimmers: Tensor) -> Tensor:
    """In each cell only the swimmer that came first, which moves first."""
    some = columns(swimmers)
    return swimmers & ((cells(some) ^ swimmers) + some)  # x & -x in each cell


def launch(bits: Tensor, left: Tensor) -> Tensor:
    """Missiles in these columns: bit 0 of a cell flies right, bit 1 flies left."""
    return bits << (left & 1)


def fly(missiles: Tensor) -> Tensor:
    """Move each missile by one column."""
    right, left = missiles & NOW, missiles & (NOW << 1)
    return (right << COLUMN) & BOARD | left >> COLUMN


def flying(missiles: Tensor) -> Tensor:
    """A bit for each column with a missile."""
    return (missiles | missiles >> 1) & NOW


def lanes(like: Tensor) -> Tensor:
    """The indices of the lanes, int64 `[8, 1]`: 0 is row 1 of the board."""
    return torch.arange(LANES, device=like.device)[:, None]


def in_lane(lane: Tensor, x: Tensor) -> Tensor:
    """`x` in one lane, 0 in the others: int64 `[8, N]`."""
    return torch.where(lanes(lane) == lane, x, 0)


def in_row(y: Tensor, x: Tensor) -> Tensor:
    """`x` `[N]` in the lane of row `y` `[N]`, if it is a lane; else 0: `[8, N]`."""
    return in_lane(((y - 1).long()), x)


def to_left(ways: Tensor) -> Tensor:
    """Masks `[8, N]` of lanes that swim to the left, from a bit per lane."""
    return -((ways >> lanes(ways)) & 1)
