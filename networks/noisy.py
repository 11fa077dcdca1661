"""Layers with learned noise on their weights, for exploration."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from yieldrl.networks.layers import MLP


class NoisyMLP(MLP):
    """An MLP whose every weight is `w = mu + sigma * eps`; it learns mu and sigma.

    Fortunato et al. 2018, "Noisy Networks for Exploration", arXiv:1706.10295, with
    factorised Gaussian noise: a layer from `p` to `q` draws `p + q` numbers instead
    of `p * q`. Between `draw` and `silence` it is noisy; otherwise the noise is zero,
    and outputs are deterministic, computed from the mean weights.

    Means are initialised as in `MLP`, by default as in the paper; `sigma` is the
    initial standard deviation, in units of `1 / sqrt(p)`.

    >>> layers, x = NoisyMLP([3, 8, 2]), torch.ones(1, 3)
    >>> before = layers(x)
    >>> with noise([layers], torch.Generator().manual_seed(1)):
    ...     bool((layers(x) == before).any())
    False
    >>> bool((layers(x) == before).all())
    True
    """

    noise: Tensor  # of all layers: inputs and outputs of the first, the second, ...

    def __init__(
        self,
        sizes: Sequence[int],
        activation: str = "tanh",
        last_gain: float | None = None,
        sigma: float = 0.5,
    ) -> None:
        super().__init__(sizes, activation, last_gain)
        self.widths = [width for pair in pairwise(sizes) for width in pair]
        means = [p for layer in self.layers for p in (layer.weight, layer.bias)]
        starts = [sigma / inputs**0.5 for inputs in sizes[:-1] for _ in "wb"]
        pairs = zip(means, starts, strict=True)
        self.sigma = nn.ParameterList([torch.full_like(p, s) for p, s in pairs])
        self.register_buffer("noise", torch.zeros(sum(self.widths)), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        sigma, noise = list(self.sigma), self.noise.split(self.widths)
        for i, layer in enumerate(self.layers):
            inputs, outputs = noise[2 * i : 2 * i + 2]
            # eps_w = f(eps_out) f(eps_in)^T and eps_b = f(eps_out), equations 10, 11
            eps = torch.outer(outputs, inputs)
            weight = torch.addcmul(layer.weight, sigma[2 * i], eps)
            bias = torch.addcmul(layer.bias, sigma[2 * i + 1], outputs)
            x = linear(x if i == 0 else self.activation(x), weight, bias)
        return x

    @torch.no_grad()
    def draw(self, generator: torch.Generator) -> None:
        """Draw new noise, in place, so that compiled code sees it."""
        like: dict[str, Any] = {"dtype": torch.float32, "device": generator.device}
        eps = torch.randn(len(self.noise), generator=generator, **like)
        f_eps = eps.sign() * eps.abs().sqrt()  # f(x) = sgn(x) sqrt(|x|)
        self.noise.copy_(f_eps, non_blocking=True)

    def silence(self) -> None:
        """Set the noise to zero: back to the mean weights."""
        self.noise.zero_()


def noisy_layers(model: nn.Module) -> list[NoisyMLP]:
    """The noisy layers of a model."""
    return [part for part in model.modules() if isinstance(part, NoisyMLP)]


@contextmanager
def noise(
    layers: Sequence[NoisyMLP], generator: torch.Generator
) -> Generator[None, None, None]:
    """Draw new noise for layers inside the block, and silence them after it."""
    for layer in layers:
        layer.draw(generator)
    try:
        yield
    finally:
        for layer in layers:
            layer.silence()
