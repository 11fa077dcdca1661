"""A sum tree: sample positions in proportion to priorities, and update these."""

from itertools import pairwise

import torch
from torch import Tensor

WIDTH = 64
"""Children per node: with 64, a search among a million leaves takes four steps."""


class SumTree:
    """Non-negative numbers, under a tree of sums of 64 children each.

    Each change recomputes sums from the children, so an index may occur twice in a
    batch, and rounding errors do not accumulate. Initially all `size` numbers are zero.
    """

    def __init__(self, size: int, device: torch.device) -> None:
        self.size = size
        dtype = torch.float32 if device.type == "mps" else torch.float64
        self._levels: list[Tensor] = []  # [nodes, WIDTH] each, the root last
        count = size
        while not self._levels or count > 1:
            count = -(-count // WIDTH)
            self._levels.append(torch.zeros(count, WIDTH, dtype=dtype, device=device))
        self._consistent = True  # whether every node is the sum of its children

    @property
    def find_bytes(self) -> int:
        """Bytes that `find` allocates per value: three times those of a node."""
        return 3 * WIDTH * self._levels[0].dtype.itemsize

    @property
    def leaves(self) -> Tensor:
        """The numbers, `[size]`; changed by `write` and `fill`."""
        return self._levels[0].view(-1)[: self.size]

    def total(self) -> Tensor:
        """The sum of all numbers, 0-dim."""
        self._repair()
        return self._levels[-1].sum()

    def write(self, index: Tensor, value: Tensor) -> None:
        """Set the numbers at `index [B]` to `value [B]`."""
        self._repair()
        leaves = self._levels[0].view(-1)
        self._consistent = False
        leaves[index] = value.to(leaves.dtype)
        for below, above in pairwise(self._levels):
            index = index // WIDTH
            above.view(-1)[index] = below.index_select(0, index).sum(1)
        self._consistent = True

    def fill(self, values: Tensor) -> None:
        """Set the first numbers to `values [K]` and all others to zero."""
        self._consistent = False
        self.leaves.zero_()[: len(values)] = values
        self._repair()

    def find(self, value: Tensor) -> Tensor:
        """The positions `[B]` at which the cumulative sum exceeds `value [B]`.

        Values uniform in `[0, total)` find positions in proportion to their numbers.
        """
        self._repair()
        node = torch.zeros_like(value, dtype=torch.int64)
        value = value.to(self._levels[0].dtype)
        for level in reversed(self._levels):
            children = level.index_select(0, node)  # [B, WIDTH]
            ends = children.cumsum(1)
            # Rounding must not select a child after the last positive one.
            last = ends[:, -1].nextafter(torch.zeros_like(value))
            value = torch.minimum(value, last).unsqueeze(1)
            child = torch.searchsorted(ends, value, right=True) % WIDTH
            begin = ends.gather(1, child) - children.gather(1, child)
            value = (value - begin).clamp(min=0).squeeze(1)
            node = node * WIDTH + child.squeeze(1)
        return node

    def _repair(self) -> None:
        """Recompute all sums if an exception interrupted a change."""
        if self._consistent:
            return
        for below, above in pairwise(self._levels):
            above.view(-1)[: len(below)] = below.sum(1)
        self._consistent = True
