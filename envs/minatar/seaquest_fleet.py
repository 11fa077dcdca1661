"""Swimmers of Seaquest as bits of an int64: where each is, and when it moves on.

A swimmer waits some steps, 5 at most, between its moves. So a row of the board, ten
columns, has 60 places: the bit 6 x + t is set if in column x there is a swimmer that
moves on in t steps. Then a step of all of them is a handful of operations.

No two share a place: they come in one by one and wait equally long. Only when the speed
rises may the one behind gain a step on the one before, three times in a game, while
they still come in at least 14 steps apart.

All is int64 and flags are masks, no bit or all bits set: in compiled code, other sizes
and conditions cost more than the bits do.
"""

import torch
from torch import Tensor

from yieldrl.envs.minatar.painting import settled

LANES = 8  # rows 1 to 8 of the board, where others swim
COLUMN = 6  # bits
CELL = 2**COLUMN - 1  # all places of column 0
BOARD = 2 ** (10 * COLUMN) - 1
NOW = BOARD // CELL  # the places of those that move now: one in each column
OTHERS = BOARD - (NOW << COLUMN - 1)  # all but the last place of each column


def place(x: Tensor, wait: Tensor | int = 0) -> Tensor:
    """The place in column `x` of one that moves on in `wait` steps."""
    return 1 << (COLUMN * x + wait).long()


def spot(x: Tensor) -> Tensor:
    """The first place in column `x`, 0 if that is outside of the board."""
    return torch.where((x >= 0) & (x < 10), place(x), 0)


def below(x: Tensor) -> Tensor:
    """A bit for each column below `x`."""
    return ((1 << (COLUMN * x).long()) - 1) & NOW


def columns(swimmers: Tensor) -> Tensor:
    """A bit for each column where there is a swimmer."""
    # The sum has the last bit of a cell where any other one is set.
    return (((swimmers & OTHERS) + OTHERS | swimmers) >> COLUMN - 1) & NOW


def cells(bits: Tensor) -> Tensor:
    """All places of the columns of which there is a bit."""
    return (bits << COLUMN) - bits


def count(bits: Tensor) -> Tensor:
    """How many columns `[K, N]` have a bit, below 64 in all: int32 `[N]`."""
    # Each column is summed up in its cell; the product has all sums in the last one.
    return ((bits.sum(0) * NOW >> 9 * COLUMN) & CELL).int()


def ahead(places: Tensor, left: Tensor) -> Tensor:
    """Places moved one column further on, to the left where the mask is set."""
    return (places << COLUMN) & (BOARD & ~left) | (places >> COLUMN) & left


def swim(swimmers: Tensor, left: Tensor, speed: Tensor) -> Tensor:
    """Those that wait wait a step less, the others move on and wait `speed` steps."""
    moving = swimmers & NOW
    return (swimmers ^ moving) >> 1 | ahead(moving, left) << speed


def oldest(swimmers: Tensor) -> Tensor:
    """Of those in one cell the one that came first, which moves on first."""
    some = columns(swimmers)
    return swimmers & ((cells(some) ^ swimmers) + some)  # x & -x in each cell


def launch(bits: Tensor, left: Tensor) -> Tensor:
    """Missiles in these columns: the first place of those to the right, the second."""
    return bits << (left & 1)


def fly(missiles: Tensor) -> Tensor:
    """Each of them one column further on."""
    right, left = missiles & NOW, missiles & (NOW << 1)
    return (right << COLUMN) & BOARD | left >> COLUMN


def flying(missiles: Tensor) -> Tensor:
    """A bit for each column where there is a missile."""
    return (missiles | missiles >> 1) & NOW


def lanes(like: Tensor) -> Tensor:
    """The numbers of the lanes, int64 `[8, 1]`: 0 is row 1 of the board."""
    return torch.arange(LANES, device=like.device)[:, None]


def in_lane(lane: Tensor, x: Tensor) -> Tensor:
    """`x` in one lane, 0 in the others: int64 `[8, N]`."""
    return torch.where(lanes(lane) == lane, x, 0)


def in_row(y: Tensor, x: Tensor) -> Tensor:
    """What `x` `[N]` has in the lane of row `y` `[N]`, if there is one: `[8, N]`."""
    return in_lane(settled((y - 1).long()), settled(x))


def to_left(ways: Tensor) -> Tensor:
    """Masks `[8, N]` of the lanes in which one swims to the left, a bit for each."""
    return -((ways >> lanes(ways)) & 1)
