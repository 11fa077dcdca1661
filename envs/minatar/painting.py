"""Convert the things on MinAtar boards to observations.

Without a compiler, every thing sets a bool of the board. Compiled code would do that
one by one, so there a board is first built of bits, with many cells per integer; then
four bits are expanded to four bytes at a time.
"""

import math
from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from yieldrl.envs.batched.tree import is_compiled, pack_bools

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
    if is_compiled():
        return unpack(_packed(things, channels), channels)
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


def _packed(things: tuple[Thing, ...], channels: int) -> Tensor:
    """Boards with a bit per channel and cell, in this order, in words `[..., N]`."""
    pack = _in_rows if channels * SIZE < 64 else _in_fifths
    words, *more = [pack(*thing, channels) for thing in things]
    for bits in more:
        words = words | bits
    return words


def _in_rows(
    channel: int | Tensor, row: int | range | Tensor, column: Tensor, channels: int
) -> Tensor:
    """Boards with an integer per row, int64 `[10, N]`."""
    rows = torch.arange(SIZE, dtype=torch.int32, device=column.device)[:, None]
    if column.ndim == 3:  # a distinct bit for each column
        bits = (column.long() << (rows * channels + channel)).sum(1)
    else:
        place = _place(channel, column, channels)
        bits = torch.where(place >= 0, 1 << place.long(), 0)
    if isinstance(row, range):
        return pad(bits, (0, 0, row.start, SIZE - row.stop))
    if column.ndim == 1:
        return torch.where(rows == row, bits, 0)
    return torch.where(rows[..., None] == row, bits, 0).sum(1)


def _in_fifths(
    channel: int | Tensor, row: int | range | Tensor, column: Tensor, channels: int
) -> Tensor:
    """Boards with five integers per two rows, which exceed 64 bits: `[5, 5, N]`."""
    place = _place(channel, column, channels)
    if isinstance(row, range):
        place = pad(place, (0, 0, row.start, SIZE - row.stop), value=-1)
    else:
        rows = torch.arange(SIZE, dtype=torch.int32, device=place.device)[:, None]
        place = torch.where(rows == row, place, -1)
    upper, lower = place.view(SIZE // 2, 1, 2, -1).unbind(2)
    lower = torch.where(lower < 0, -1, lower + SIZE * channels)
    size = SIZE * channels * 2 // 5
    begin = torch.arange(0, 5 * size, size, dtype=torch.int32, device=place.device)
    words = torch.zeros_like(upper)
    for at in (upper - begin[:, None], lower - begin[:, None]):
        words = words | torch.where((at >= 0) & (at < size), 1 << at, 0)
    return words


def _place(channel: int | Tensor, column: Tensor, channels: int) -> Tensor:
    """The bit of a thing in its row, below 0 if invisible."""
    seen = (column >= 0) & (column < SIZE)
    return torch.where(seen, column * channels + channel, -1)


def unpack(words: Tensor, channels: int) -> Tensor:
    """Observations bool `[N, 10, 10, C]` of boards of bits.

    `words` `[..., N]` split the bits of a board, in order, into equal parts of a
    multiple of 4 bits; the last one may have more than are needed. A product copies
    four bits to the bits 0, 8, 16 and 24, so that an int32 holds their four bytes.
    Compiled code returns int32 `[N, 25 C]` for the caller to view, because inside of it
    a view of another dtype is a copy.
    """
    n = words.shape[-1]
    size = 4 * math.ceil(SIZE * SIZE * channels * n / 4 / words.numel())  # of a word
    first = settled(torch.arange(0, size, 4, dtype=words.dtype, device=words.device))
    words = settled(words.reshape(-1, n)).T[..., None]
    four = ((words >> first) & 15).to(torch.int32)
    four = ((four * 0x204081) & 0x1010101).reshape(n, -1)
    four = four[:, : SIZE * SIZE * channels // 4].contiguous()
    return (
        four if is_compiled() else four.view(torch.bool).view(n, SIZE, SIZE, channels)
    )


def with_boards(obs: Tensor, masks: Iterable[Tensor], boards: list[Tensor]) -> Tensor:
    """Observations, with a board, int32 `[1, 25 C]`, where its mask `[N]` is True.
    In compiled code they are in `unpack`'s form, and selected by bit operations, which
    cost less than conditions."""
    if not is_compiled():
        fours = pack_bools(obs)
        for mask, board in zip(masks, boards, strict=True):
            fours = torch.where(mask[:, None], board, fours)
        return fours.view(torch.bool).view(obs.shape)
    for mask, board in zip(masks, boards, strict=True):
        others = settled(mask[:, None].int() - 1)
        obs = (obs & others) | (board & ~others)
    return obs


def settled(x: Tensor) -> Tensor:
    """Make compiled code compute a tensor once, instead of again at every use: the
    compiler cannot fuse across strides."""
    if not is_compiled():
        return x
    x = x.contiguous()
    return x.as_strided(x.shape, x.stride())


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
