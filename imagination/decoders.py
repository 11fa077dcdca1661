"""Decoders: they reconstruct an encoder's input from a latent."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from yieldrl.imagination.outcomes import symlog
from yieldrl.networks import MLP, DictEncoder, NatureCNN
from yieldrl.networks.encoder import Encoder, Sentence


class Decoder(nn.Module):
    """The input of an encoder, from latents `[B, inputs]`.

    Images are `[B, C, H, W]` in [-1, 1], by the reverse of `NatureCNN`; of all else the
    features `[B, D]` are reconstructed, numbers and one-hot choices, `symlog`.
    """

    def __init__(self, encoder: Encoder, inputs: int, hidden_sizes: list[int]) -> None:
        super().__init__()
        self._read = (encoder,)  # a tuple, so that it is no submodule
        if isinstance(encoder, NatureCNN):
            self.layers = transposed(encoder, inputs)
        else:
            self.layers = MLP([inputs, *hidden_sizes, encoder.size], "relu")

    def forward(self, latent: Tensor) -> Tensor:
        return self.layers(latent)

    def target(self, obs: Any) -> Tensor:
        """The target of the reconstruction of observations `[B, ...]`."""
        (encoder,) = self._read
        if isinstance(encoder, NatureCNN):
            return encoder.pixels(obs)
        return symlog(encoder(obs))

    def loss(self, latent: Tensor, obs: Any) -> Tensor:
        """The squared error, summed over an observation's numbers, `[B]`."""
        return (self(latent) - self.target(obs)).square().flatten(1).sum(1)


class DictDecoder(nn.Module):
    """A decoder for each entry of a Dict."""

    def __init__(
        self, encoder: DictEncoder, inputs: int, hidden_sizes: list[int]
    ) -> None:
        super().__init__()
        self.names = encoder.names
        parts: Any = encoder.parts
        decoders = (make_decoder(part, inputs, hidden_sizes) for part in parts)
        self.parts = nn.ModuleList(decoders)

    def loss(self, latent: Tensor, obs: Any) -> Tensor:
        """The sum of the entries' losses, `[B]`."""
        parts: Any = zip(self.names, self.parts, strict=True)
        return torch.stack([part.loss(latent, obs[k]) for k, part in parts]).sum(0)


def make_decoder(
    encoder: Encoder, inputs: int, hidden_sizes: list[int]
) -> Decoder | DictDecoder:
    """The decoder for an observation encoder; TypeError for sentences."""
    if isinstance(encoder, Sentence):
        raise TypeError(
            "a world model reconstructs pictures, numbers and choices, not sentences:"
            " leave the text out with a wrapper"
        )
    if isinstance(encoder, DictEncoder):
        return DictDecoder(encoder, inputs, hidden_sizes)
    return Decoder(encoder, inputs, hidden_sizes)


def transposed(encoder: NatureCNN, inputs: int) -> nn.Sequential:
    """The convolutions of an encoder in reverse, from latents `[B, inputs]` on."""
    height, width = encoder.image_size
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
    start = [nn.Linear(inputs, math.prod(maps)), nn.ReLU()]
    return nn.Sequential(*start, nn.Unflatten(1, maps), *layers)
