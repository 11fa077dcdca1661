"""Images of any bounds as those that models were trained with."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
import torch
from gymnasium.spaces import Box
from torch import Tensor

from yieldrl.foundations import spaces
from yieldrl.foundations.images import UNBOUNDED


class Picture(NamedTuple):
    """What an image becomes: `(x - low) * scale`, rounded if it becomes bytes.

    Attributes:
        space: Of one image that comes out, laid out as the one that goes in.
        low: What becomes 0: a number, or one for each number of the image.
        scale: What a number is multiplied by, likewise.
    """

    space: Box
    low: Tensor
    scale: Tensor

    @classmethod
    def of(cls, kind: str, space: Box) -> Self | None:
        """The conversion of an `rgb` or `depth` image; None if it stays as it is.

        Colours of integers or bits become bytes, their largest bound 255, as models
        divide by that. Colours of floats that exceed 1 are divided by their bound. Of
        depths those of integers become floats up to 1; floats are distances, and stay.
        """
        whole = space.dtype.kind in "uib"
        divisor = spaces.image_divisor(space)
        if kind == "depth":
            return cls._divided(space, divisor) if whole else None
        if not whole:
            return cls._divided(space, divisor) if (divisor != 1).any() else None
        if space.dtype == np.uint8 and (divisor == 255).all():
            return None
        low = space.low.astype(np.float64)
        low = np.where(np.abs(low) < UNBOUNDED, low.clip(max=0.0), 0.0)
        high = space.high.astype(np.float64)
        high = np.where(np.abs(high) < UNBOUNDED, high, 255.0)
        scale = 255 / (high - low).clip(min=1.0)
        return cls(Box(0, 255, space.shape, np.uint8), _float32(low), _float32(scale))

    @classmethod
    def _divided(cls, space: Box, divisor: np.ndarray) -> Self:
        low, high = (
            (bound.astype(np.float64) / divisor).astype(np.float32)
            for bound in (space.low, space.high)
        )
        return cls(Box(low, high), _float32(np.zeros(())), _float32(1 / divisor))

    def convert(self, images: Tensor) -> Tensor:
        """Images `[B, ...]` of the space that it was made for, converted."""
        low, scale = self.low.to(images.device), self.scale.to(images.device)
        values = (images.float() - low) * scale
        if self.space.dtype != np.uint8:
            return values
        return values.round().clamp(0, 255).to(torch.uint8)


def _float32(array: np.ndarray) -> Tensor:
    return torch.from_numpy(np.asarray(array, np.float32))
