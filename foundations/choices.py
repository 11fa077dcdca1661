"""The range of values of discrete observations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from gymnasium import Space
from gymnasium.spaces import Discrete, MultiBinary, MultiDiscrete

from yieldrl.foundations.spaces import Path, leaves


class ChoiceRange(NamedTuple):
    """Which values a leaf of choices may have: `low <= value < low + size`."""

    path: Path
    space: Space[Any]
    low: Any  # a number, or an array of the leaf's shape; None for zero
    size: Any  # a number, or an array of the leaf's shape

    def outside(self, values: np.ndarray) -> np.ndarray:
        """Which of the arrays `values [N, ...]` are no choice of the space, bool."""
        if self.low is not None:
            values = values - self.low
        if values.dtype.kind != "i":
            return (values < 0) | (values >= self.size)
        # As unsigned numbers negative ones are the largest: one comparison, not two.
        return values.view(_UNSIGNED[values.itemsize]) >= self.size


_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def choice_ranges(space: Space[Any]) -> list[ChoiceRange]:
    """The leaves of a space that are choices, with what they may be."""
    ranges: list[ChoiceRange] = []
    for path, leaf in leaves(space):
        if isinstance(leaf, Discrete):
            ranges.append(ChoiceRange(path, leaf, int(leaf.start) or None, int(leaf.n)))
        elif isinstance(leaf, MultiDiscrete):
            low = leaf.start if leaf.start.any() else None
            ranges.append(ChoiceRange(path, leaf, low, leaf.nvec.astype(np.uint64)))
        elif isinstance(leaf, MultiBinary):
            ranges.append(ChoiceRange(path, leaf, None, 2))
    return ranges
