"""Which numbers of observations have a mean and a scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import Space
from gymnasium.spaces import Box

from yieldrl.foundations.images import is_image
from yieldrl.foundations.text import Utf8Text


def is_quantity(path: tuple[str, ...], leaf: Space[Any]) -> bool:
    """Whether the numbers of a leaf are quantities: see `spaces.quantities`."""
    if not isinstance(leaf, Box) or isinstance(leaf, Utf8Text) or is_image(leaf):
        return False
    if path[-1:] == ("action_mask",) or leaf.dtype == np.bool_:
        return False
    widths = leaf.high.astype(np.float64) - leaf.low.astype(np.float64)
    return leaf.dtype.kind == "f" or bool((widths > 1).any())
