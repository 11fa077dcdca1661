"""Kinds of observations: images, with their channels and range, and quantities."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import Space
from gymnasium.spaces import Box

from yieldrl.foundations.text import Utf8Text

UNBOUNDED = 2.0**31 - 1
"""A bound from here on is none: the last number of a dtype, or infinity."""


def is_image(space: Space[Any]) -> bool:
    """Whether a leaf is a picture: `[H, W, C]` or `[C, H, W]` with few channels."""
    if not isinstance(space, Box) or len(space.shape) != 3:
        return False
    first, middle, last = space.shape
    return min(first, last) <= 16 and min(middle, max(first, last)) >= 5


def channels_last(shape: tuple[int, ...]) -> bool:
    """Whether an image is `[H, W, C]`, not `[C, H, W]`.

    Most are square, so the axis that differs is channels. A cube is taken for
    `[H, W, C]`, as Gymnasium's images are; otherwise channels are the fewest.
    """
    first, middle, last = shape
    if first != middle and middle == last:
        return False
    return first == middle or last < first


def image_divisor(space: Box) -> np.ndarray:
    """The divisor that brings the numbers of an image into [-1, 1].

    The larger of its two bounds, 255 for a usual picture of bytes and 1 for bits, for
    each number of the image alone. Bounds within [-1, 1] stay as they are. Where there
    are none it is 255 for integers and 1 for floats.

    Returns:
        float64, a single number `[]` where all are alike, else of the image's shape.

    >>> float(image_divisor(Box(0, 15, (8, 8, 3), np.uint8)))
    15.0
    """
    bounds = np.stack([space.low, space.high]).astype(np.float64)
    largest = np.abs(bounds).max(0)
    unknown = 255.0 if space.dtype.kind in "ui" else 1.0
    divisor = np.where(largest >= UNBOUNDED, unknown, largest.clip(min=1.0))
    alike = (divisor == divisor.flat[0]).all()
    return np.asarray(divisor.flat[0]) if alike else divisor


def is_quantity(path: tuple[str, ...], leaf: Space[Any]) -> bool:
    """Whether the numbers of a leaf are quantities: see `spaces.quantities`."""
    if not isinstance(leaf, Box) or isinstance(leaf, Utf8Text) or is_image(leaf):
        return False
    if path[-1:] == ("action_mask",) or leaf.dtype == np.bool_:
        return False
    widths = leaf.high.astype(np.float64) - leaf.low.astype(np.float64)
    return leaf.dtype.kind == "f" or bool((widths > 1).any())
