"""What one sees of Seaquest: the bits of its ten channels."""

from __future__ import annotations

import torch
from torch import Tensor

from yieldrl.envs.minatar.painting import SIZE, settled
from yieldrl.envs.minatar.seaquest_fleet import (
    CELL,
    COLUMN,
    ahead,
    below,
    columns,
    flying,
    in_lane,
    in_row,
    place,
    spot,
    to_left,
)
from yieldrl.envs.minatar.seaquest_moves import diver_columns

FLOOR = SIZE - 1  # the row of the gauges
OXYGEN = 200
CHANNELS = 10
BITS = 64  # of a word
CELLS = 8  # that have a part in a word, at most


def words(state: dict[str, Tensor]) -> Tensor:
    """The board in words of 64 bits, int64 `[16, N]`, for `unpack`.

    So a word has the bytes of as many numbers as a CPU computes at once. A cell may
    begin in one word and end in the next.
    """
    device = state["x"].device
    first, last = (settled(torch.cat(rows)) for rows in _rows(state))
    begin = torch.arange(0, SIZE * SIZE * CHANNELS, BITS, device=device)[:, None]
    words = torch.zeros_like(begin)
    for i in range(CELLS):
        cell = begin // CHANNELS + i
        shift = cell * CHANNELS - begin
        cell = torch.where(shift < BITS, cell, SIZE * SIZE)  # no cell of the word
        row, column = (cell // SIZE)[:, 0], cell % SIZE * COLUMN
        low, high = (first[row] >> column) & CELL, (last[row] >> column) & CELL
        bits = low | high << COLUMN
        words = words | (bits << shift if i else bits >> -shift)
    return words


def _rows(state: dict[str, Tensor]) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The surface, the lanes, the floor and nothing, of the first and last channels.

    Six bits a column: our front and back, our shots, trails, torpedoes and fish. Then
    four: submarines, the gauges of oxygen and of divers, and divers.
    """
    x, y, left = state["x"], state["y"], to_left(state["ways"])
    own = place(x) | spot(x - state["heading"]) << 1
    fish, subs = columns(state["fish"]), columns(state["subs"])
    first = ahead(fish | subs, ~left) << 3 | flying(state["torpedoes"]) << 4
    first = first | fish << 5 | flying(state["shots"]) << 2
    first, last = first | in_row(y, own), subs

    divers = state["divers"]
    diver_x = diver_columns(divers, state["diver_timer"])
    lane = settled(divers.abs().long() - 1)
    diver = settled(spot(diver_x) << 3)
    trail = settled(spot(diver_x - divers.sign()) << 3)
    for k in range(len(divers)):
        first = first | in_lane(lane[k], trail[k])
        last = last | in_lane(lane[k], diver[k])

    surface = flying(state["high_shots"]) << 2 | torch.where(y == 0, own, 0)
    air = tenths(state["oxygen"].clamp(min=0))
    free = FLOOR - state["aboard"]
    seats = below(torch.full_like(free, FLOOR)) & ~below(free)
    gauges = (below(air) << 1 | seats << 2)[None]
    nothing = torch.zeros_like(gauges)
    return (surface[None], first, nothing, nothing), (nothing, last, gauges, nothing)


def tenths(oxygen: Tensor) -> Tensor:
    """How many tenths of the oxygen are left, rounded down."""
    return (oxygen / (OXYGEN // SIZE)).floor().int()
