"""What one sees of Seaquest: the bits of its ten channels."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from yieldrl.envs.minatar.painting import SIZE, settled
from yieldrl.envs.minatar.shoals import CELL, COLUMN, ahead, below, columns, spot

FLOOR = SIZE - 1  # the row of the gauges
OXYGEN = 200
CHANNELS = 10
CELLS = 4  # of a word


def words(state: dict[str, Tensor]) -> Tensor:
    """The board in words of four cells, int64 `[25, N]`, for `unpack`."""
    device = state["x"].device
    rows = torch.arange(SIZE, dtype=torch.int32, device=device)[:, None]
    first, last = settled(_first(state, rows)), settled(_last(state, rows))
    words = torch.zeros_like(first[:1])
    for i in range(CELLS):
        cell = torch.arange(i, SIZE * SIZE, CELLS, device=device)
        row, begin = cell // SIZE, (cell % SIZE * COLUMN)[:, None]
        low, high = (first[row] >> begin) & CELL, (last[row] >> begin) & CELL
        words = words | (low | high << COLUMN) << (i * CHANNELS)
    return words


def _first(state: dict[str, Tensor], rows: Tensor) -> Tensor:
    """Our front and back, our shots, trails, torpedoes and fish: 6 bits a column."""
    x, y, fish = state["x"], state["y"], state["fish"]
    wake = ahead(columns(fish | state["subs"]), -state["way"]) << 3
    torpedoes = columns(state["torpedoes"]) << 4
    board = pad(wake | torpedoes | columns(fish) << 5, (0, 0, 1, 1))
    board = board | pad(columns(state["shots"]) << 2, (0, 0, 0, 1))
    ours = spot(x) | spot(x - state["heading"]) << 1
    diver_x, diver_y, heading, _ = state["divers"]
    behind = spot(diver_x - heading) << 3
    return _with(board, rows, torch.cat((y[None], diver_y)), (ours, *behind))


def _last(state: dict[str, Tensor], rows: Tensor) -> Tensor:
    """Submarines, the gauges of oxygen and of divers, and divers: 4 bits a column."""
    board = pad(columns(state["subs"]), (0, 0, 1, 1))
    diver_x, diver_y, _, _ = state["divers"]
    full = (state["oxygen"].clamp(min=0) * SIZE) // OXYGEN
    free = FLOOR - state["aboard"]
    seats = below(torch.full_like(free, FLOOR)) & ~below(free)
    gauges, divers = below(full) << 1 | seats << 2, spot(diver_x) << 3
    floor = torch.full_like(free, FLOOR)[None]
    return _with(board, rows, torch.cat((floor, diver_y)), (gauges, *divers))


def _with(board: Tensor, rows: Tensor, row: Tensor, bits: tuple[Tensor, ...]) -> Tensor:
    """The board, and the k-th bits `[N]` in the k-th row of `row` `[K, N]`."""
    settled_bits = settled(torch.stack(bits))
    for k in range(len(bits)):
        board = board | torch.where(rows == row[k], settled_bits[k], 0)
    return board
