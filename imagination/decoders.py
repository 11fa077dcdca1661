"""Decoders: they reconstruct an encoder's input from a latent."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import gymnasium as gym
import torch
from gymnasium.spaces import Dict
from torch import Tensor, nn

from yieldrl.core import Utf8Text
from yieldrl.imagination.outcomes import symlog
from yieldrl.networks import MLP, DictEncoder, NatureCNN
from yieldrl.networks.encoder import Encoder


class Decoder(nn.Module, ABC):
    """A decoder: the input of an observation encoder, from latents `[B, F]`."""

    @abstractmethod
    def forward(self, latent: Tensor) -> Any:
        """The reconstruction: as `target` of an observation."""

    @abstractmethod
    def target(self, obs: Any) -> Any:
        """The target of the reconstruction of observations `[B, ...]`."""

    def loss(self, latent: Tensor, obs: Any) -> Tensor:
        """The squared error, summed over an observation's numbers, `[B]`."""
        return (self(latent) - self.target(obs)).square().flatten(1).sum(1)


def make_decoder(
    space: gym.Space[Any], encoder: Encoder, inputs: int, hidden_sizes: Sequence[int]
) -> Decoder:
    """The decoder for `make_encoder(space)`; TypeError for sentences."""
    if isinstance(encoder, DictEncoder):
        return _DictDecoder(space, encoder, inputs, hidden_sizes)
    if isinstance(encoder, NatureCNN):
        return ImageDecoder(space, encoder, inputs)
    if isinstance(space, Utf8Text):
        raise TypeError(
            "a world model reconstructs pictures, numbers and choices, not sentences:"
            " leave the text out with a wrapper"
        )
    return _NumberDecoder(encoder, [inputs, *hidden_sizes, encoder.size])


class ImageDecoder(Decoder):
    """The reverse of `NatureCNN`: images `[B, C, H, W]` in [-1, 1]."""

    def __init__(self, space: gym.Space[Any], encoder: NatureCNN, inputs: int) -> None:
        super().__init__()
        self._read = (encoder.pixels,)  # a tuple, so that it is no submodule
        assert space.shape is not None
        height, width = space.shape[:2] if encoder.channels_last else space.shape[1:]
        layers: list[nn.Module] = []
        channels = 0
        for part in encoder.convolutions:
            if not isinstance(part, nn.Conv2d):
                continue
            kernel, stride = part.kernel_size[0], part.stride[0]
            rest = (height - kernel) % stride, (width - kernel) % stride
            height, width = (n // stride + 1 for n in (height - kernel, width - kernel))
            channels = part.out_channels
            shape = channels, part.in_channels, kernel, stride
            back = nn.ConvTranspose2d(*shape, output_padding=rest)
            layers = [back, *([nn.ReLU()] if layers else []), *layers]
        maps = channels, height, width
        start = [nn.Linear(inputs, channels * height * width), nn.ReLU()]
        self.layers = nn.Sequential(*start, nn.Unflatten(1, maps), *layers)

    def forward(self, latent: Tensor) -> Tensor:
        return self.layers(latent)

    def target(self, obs: Tensor) -> Tensor:
        return self._read[0](obs)


class _NumberDecoder(Decoder):
    """Numbers, `symlog`, and one-hot choices, `[B, D]`."""

    def __init__(self, encoder: Encoder, sizes: list[int]) -> None:
        super().__init__()
        self._read = (encoder,)
        self.mlp = MLP(sizes, "relu")

    def forward(self, latent: Tensor) -> Tensor:
        return self.mlp(latent)

    def target(self, obs: Tensor) -> Tensor:
        return symlog(self._read[0](obs))


class _DictDecoder(Decoder):
    """Every entry of a Dict by itself."""

    def __init__(
        self, space: gym.Space[Any], encoder: DictEncoder, inputs: int, hidden: Any
    ) -> None:
        super().__init__()
        assert isinstance(space, Dict)
        self.names = encoder.names
        parts: Any = zip(encoder.names, encoder.parts, strict=True)
        decoders = (make_decoder(space[k], e, inputs, hidden) for k, e in parts)
        self.parts = nn.ModuleList(decoders)

    def forward(self, latent: Tensor) -> dict[str, Any]:
        return {name: part(latent) for name, part in self._named()}

    def target(self, obs: Any) -> dict[str, Any]:
        return {name: part.target(obs[name]) for name, part in self._named()}

    def loss(self, latent: Tensor, obs: Any) -> Tensor:
        losses = [part.loss(latent, obs[name]) for name, part in self._named()]
        return torch.stack(losses).sum(0)

    def _named(self) -> Iterable[tuple[str, Any]]:
        return zip(self.names, self.parts, strict=True)
