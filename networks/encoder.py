"""Encoders: from any supported observation to one feature vector, or one number."""

import math
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete
from torch import Tensor, nn
from torch.nn import functional

from yieldrl.core import Utf8Text, spaces
from yieldrl.networks.layers import orthogonal


class Encoder(nn.Module):
    """Maps observations `[B, ...]` to features `[B, size]`."""

    size: int


def make_encoder(space: gym.Space[Any]) -> Encoder:
    """The encoder that fits a space; TypeError if there is none.

    Vectors pass unchanged, choices become one-hot, images go through a small CNN (the
    Nature CNN from 36 pixels on), the bytes of a sentence are embedded, and the leaves
    of a Dict are concatenated.
    """
    list(spaces.leaves(space))  # TypeError if a leaf is unsupported
    if isinstance(space, Dict):
        return DictEncoder(space)
    if isinstance(space, Utf8Text):
        return Sentence(space.max_bytes)
    if spaces.is_image(space):
        assert isinstance(space, Box)
        return NatureCNN(space)
    if isinstance(space, Discrete):
        return _OneHot([int(space.n)], [int(space.start)])
    if isinstance(space, MultiDiscrete):
        counts = [int(n) for n in space.nvec.flatten()]
        return _OneHot(counts, [int(s) for s in space.start.flatten()])
    shape = spaces.shape_of(space)
    if isinstance(space, Box) and space.dtype == np.uint8 and len(shape) in (2, 4):
        warnings.warn(
            f"{space} is read as numbers from 0 to 255: pictures have three axes, [H,"
            " W, C] or [C, H, W]; keep the axis of channels, or stack frames along it",
            stacklevel=2,
        )
    return _Flat(shape)


class DictEncoder(Encoder):
    """Concatenates the features of all entries of a Dict, in the space's order."""

    def __init__(self, space: Dict) -> None:
        super().__init__()
        self.names = list(space)
        parts = [make_encoder(space[name]) for name in self.names]
        self.parts = nn.ModuleList(parts)
        self.size = sum(part.size for part in parts)

    def forward(self, obs: Any) -> Tensor:
        parts = zip(self.names, self.parts, strict=True)
        return torch.cat([part(obs[name]) for name, part in parts], dim=-1)


class _Flat(Encoder):
    """Encoder of numbers: a flat float32 vector."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.size = int(torch.Size(shape).numel())
        self.is_vector = len(shape) == 1

    def forward(self, obs: Tensor) -> Tensor:
        return (obs if self.is_vector else obs.reshape(obs.shape[0], self.size)).float()


class _OneHot(Encoder):
    """Encoder of choices: one-hot codes, concatenated."""

    starts: Tensor

    def __init__(self, counts: list[int], starts: list[int]) -> None:
        super().__init__()
        self.counts = counts
        self.size = sum(counts)
        self.register_buffer("starts", torch.tensor(starts), persistent=False)

    def forward(self, obs: Tensor) -> Tensor:
        # `len(obs)` would become a constant in an exported program.
        choices = obs.reshape(obs.shape[0], -1).long() - self.starts
        codes = [
            functional.one_hot(choices[:, i], count)
            for i, count in enumerate(self.counts)
        ]
        return torch.cat(codes, dim=-1).float()


class Sentence(Encoder):
    """Encoder of text: an embedding of size 8 per byte, concatenated."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(256, 8)
        self.size = 8 * max_bytes

    def forward(self, obs: Tensor) -> Tensor:
        return self.embedding(obs.long()).flatten(1)


class NatureCNN(Encoder):
    """The network of Mnih et al. 2015 for images `[B, C, H, W]`, `[B, H, W, C]`.

    "Human-level control through deep reinforcement learning", Nature 518: three
    convolutions and 512 features. Differs from the paper: images under 36 pixels get
    the one 3 x 3 convolution and 128 features of MinAtar (arXiv:1903.03176), and the
    head reads features in the image's order, cell by cell where channels come last. An
    image is multiplied by `scale`, a number, or `[C, H, W]` where bounds differ, so
    that it lies in [-1, 1]: see `spaces.image_divisor`.
    """

    scale: Tensor

    def __init__(self, space: Box) -> None:
        super().__init__()
        self.channels_last = spaces.channels_last(space.shape)
        scale = torch.as_tensor(1 / spaces.image_divisor(space)).float()
        if scale.ndim > 0 and self.channels_last:
            scale = scale.permute(2, 0, 1).contiguous()
        # Not persistent: it follows from the space, so checkpoints need not store it.
        self.register_buffer("scale", scale, persistent=False)
        height, width, channels = space.shape
        if not self.channels_last:
            channels, height, width = space.shape
        self.image_size = height, width
        if min(height, width) >= 36:
            kernels = [(channels, 32, 8, 4), (32, 64, 4, 2), (64, 64, 3, 1)]
        else:
            kernels = [(channels, 16, 3, 1)]
        layers: list[nn.Module] = []
        for inputs, outputs, kernel, stride in kernels:
            convolution = nn.Conv2d(inputs, outputs, kernel, stride)
            layers += [orthogonal(convolution), nn.ReLU(inplace=True)]
        self.convolutions = nn.Sequential(*layers)
        with torch.no_grad():
            flat = self.convolutions(torch.zeros(1, channels, height, width)).numel()
        self.size = 512 if len(kernels) == 3 else 128
        head = orthogonal(nn.Linear(flat, self.size))
        self.head = nn.Sequential(head, nn.ReLU(inplace=True))

    def pixels(self, obs: Tensor) -> Tensor:
        """The input of the first convolution: images `[B, C, H, W]` in [-1, 1]."""
        image = obs.permute(0, 3, 1, 2) if self.channels_last else obs
        return image.float() * self.scale

    def forward(self, obs: Tensor) -> Tensor:
        maps = self.convolutions(self.pixels(obs))
        if self.channels_last:
            maps = maps.permute(0, 2, 3, 1)
        return self.head(maps.flatten(1))


class StateIndex(nn.Module):
    """Maps observations `[B, ...]` to indices of their states, `[B]`.

    `count` is the number of states, of combinations if MultiDiscrete; or TypeError.
    """

    start: Tensor
    stride: Tensor

    def __init__(self, space: gym.Space[Any]) -> None:
        super().__init__()
        if not isinstance(space, Discrete | MultiDiscrete):
            raise TypeError(
                "a table needs states that can be numbered, Discrete or MultiDiscrete,"
                f" got {space}: take DQN, whose network takes any"
            )
        several = isinstance(space, MultiDiscrete)
        choices = torch.as_tensor(space.nvec if several else space.n)
        self.count = math.prod(choices.flatten().tolist())
        # Place values, as of digits: the product of the sizes of all later choices.
        below = choices.flatten().flip(0).cumprod(0)
        stride = torch.cat([below.new_ones(1), below[:-1]]).flip(0).view(choices.shape)
        self.register_buffer("stride", stride, persistent=False)
        start = torch.as_tensor(space.start)
        self.register_buffer("start", start, persistent=False)
        self.is_numbered = not several and not start.any()

    def forward(self, obs: Tensor) -> Tensor:
        if self.is_numbered:
            return obs
        number = (obs - self.start) * self.stride
        return number if number.ndim == 1 else number.flatten(1).sum(1)
