"""Sources of a model's inputs in observations, and their conversion."""

from typing import Any, NamedTuple, Self

import numpy as np
import torch
from gymnasium import Space
from gymnasium.spaces import Box
from torch import Tensor

from yieldrl.core import spaces
from yieldrl.core.spaces import UNBOUNDED, Path


class Picture(NamedTuple):
    """Conversion of an image: `(x - low) * scale`, rounded if the result is bytes.

    `space` is of one image that comes out, laid out as the one that goes in.
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
        low, high = space.low.astype(np.float64), space.high.astype(np.float64)
        low = np.where(np.abs(low) < UNBOUNDED, low.clip(max=0.0), 0.0)
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
    return torch.from_numpy(np.array(array, np.float32))


class Source(NamedTuple):
    """The source of one of a model's inputs.

    Attributes:
        kind: `rgb`, `depth`, `proprio` or `language`.
        path: Its path in the environment's observations.
        space: Of one such observation.
        picture: The conversion of an image; None if it stays as it is.
    """

    kind: str
    path: Path
    space: Box
    picture: Picture | None

    @classmethod
    def of(cls, name: Path, path: Path, space: Space[Any]) -> Self:
        """The source of an input; ValueError if its space does not fit."""
        kind = name[0]
        axes = {"rgb": 3, "depth": 3, "language": 1}.get(kind)
        nests = kind in ("rgb", "depth") or len(name) == 1
        if nests and isinstance(space, Box) and axes in (None, len(space.shape)):
            picture = Picture.of(kind, space) if axes == 3 else None
            return cls(kind, path, space, picture)
        texts = {3: "images [H, W, C]", 1: "a Utf8Text"}
        raise ValueError(
            f"{'.'.join(name)} comes from {'.'.join(path) or 'observations'} of"
            f" {space}, and must be {texts.get(axes or 0, 'a Box of numbers')}: map"
            " another entry with observation_keys"
        )

    @property
    def channels_first(self) -> bool:
        """Whether it is an image `[C, H, W]`, which models read as `[H, W, C]`."""
        is_image = self.kind in ("rgb", "depth")
        return is_image and not spaces.channels_last(self.space.shape)

    def find(self, obs: Any) -> Tensor:
        """The entry in an environment's observations."""
        for name in self.path:
            obs = obs[name]
        return obs

    def read(self, obs: Any) -> Tensor:
        """The input, as the model reads it, from observations `[B, ...]`."""
        leaf = self.find(obs)
        if self.kind == "proprio":
            return leaf.reshape(len(leaf), -1).float()
        leaf = leaf if self.picture is None else self.picture.convert(leaf)
        return leaf.permute(0, 2, 3, 1) if self.channels_first else leaf

    def read_space(self) -> Box:
        """The space of one such input, as the model reads it."""
        space = self.space if self.picture is None else self.picture.space
        low, high = space.low, space.high
        if self.kind == "proprio":
            low, high = (x.reshape(-1).astype(np.float32) for x in (low, high))
            return Box(low, high)
        if self.channels_first:
            low, high = (np.moveaxis(x, 0, -1) for x in (low, high))
            return Box(low, high, dtype=space.dtype.type)
        return space
