"""Convert the things on MinAtar boards to observations."""

import numpy as np
import torch
from torch import Tensor

SIZE = 10  # rows and columns of every game
OUTSIDE = -1  # a column outside the board
CELL = 16  # pixels of a cell when rendering

Thing = tuple[int | Tensor, int | range | Tensor, Tensor]
"""Channel, row and column of a thing in each environment, `[N]`, or of K, `[K, N]`.

Tensors are int32; things in columns outside the board are invisible. If the row is a
range of R rows, there is one thing in each, `[R, N]`, or the last entry is `[R, 10, N]`
with 1 for each filled cell of these rows, otherwise 0.
"""


def paint(things: tuple[Thing, ...], channels: int) -> Tensor:
    """Observations bool `[N, 10, 10, C]`. The first thing, `[N]`, must be visible."""
    n, device = things[0][2].shape[-1], things[0][2].device
    cells = SIZE * SIZE * channels
    flat = torch.zeros(n * cells, dtype=torch.bool, device=device)
    board = flat.view(n, SIZE, SIZE, channels)
    begins = torch.arange(0, n * cells, cells, device=device)
    always: Tensor | None = None
    for channel, row, column in things:
        if isinstance(row, range) and column.ndim == 3:
            board[:, row.start : row.stop, :, channel] = column.permute(2, 0, 1) > 0
            continue
        if isinstance(row, range):
            row = torch.arange(row.start, row.stop, device=device)[:, None]
        place = (row * SIZE + column) * channels + channel
        if always is None:
            always = place
        else:  # paint invisible things over the first thing
            seen = (column >= 0) & (column < SIZE)
            place = torch.where(seen, place, always)
        flat.index_fill_(0, (place + begins).flatten(), True)
    return board


def picture(board: np.ndarray) -> np.ndarray:
    """Render a board bool `[10, 10, C]` as uint8 `[160, 160, 3]`: cells are black or in
    the colour of their last channel."""
    channels = board.shape[-1]
    number = (board * np.arange(1, channels + 1)).max(-1)
    return palette(channels)[number].repeat(CELL, 0).repeat(CELL, 1)


def palette(count: int) -> np.ndarray:
    """Black and `count` colours of the cubehelix, uint8 `[1 + count, 3]`.

    Source: Green (2011), "A colour scheme for the display of astronomical intensity
    images", arXiv:1108.5083, with its default parameters.
    """
    light = np.linspace(0, 1, count + 2)[:-1, None]
    angle = 2 * np.pi * (0.5 / 3 - 1.5 * light)
    wave = np.cos(angle) * [-0.14861, -0.29227, 1.97294]
    wave = wave + np.sin(angle) * [1.78277, -0.90649, 0]
    colours = light + light * (1 - light) / 2 * wave
    return np.round(255 * colours.clip(0, 1)).astype(np.uint8)
