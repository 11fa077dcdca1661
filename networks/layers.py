"""Plain layers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import nn


def orthogonal(layer: nn.Module, gain: float = 2**0.5) -> nn.Module:
    """Initialise a layer with orthogonal weights and zero biases; returns it.

    Saxe et al. 2014, arXiv:1312.6120. Hidden layers take `sqrt(2)`, a policy's last
    layer 0.01 (it starts out almost uniform), a critic's last layer 1; see Andrychowicz
    et al. 2021, arXiv:2006.05990.
    """
    assert isinstance(layer, nn.Linear | nn.Conv2d)
    nn.init.orthogonal_(layer.weight, gain)
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)
    return layer


def mlp(
    sizes: Sequence[int],
    activation: type[nn.Module] = nn.Tanh,
    last_gain: float | None = None,
) -> nn.Sequential:
    """Linear layers with activations between, `[B, sizes[0]] -> [B, sizes[-1]]`.

    Args:
        sizes: Input width, hidden widths, output width.
        activation: Between the layers; none after the last.
        last_gain: With a number, all layers are orthogonal, the last one with this
            gain. Without, they keep PyTorch's initialisation.
    """
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), activation()]
    layers.pop()
    if last_gain is not None:
        for layer in layers[::2]:
            orthogonal(layer)
        orthogonal(layers[-1], last_gain)
    return nn.Sequential(*layers)
