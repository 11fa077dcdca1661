"""MLPs, orthogonal initialisation, and a critic of continuous actions."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import silu

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh_,  # in place: the linear layer's output is not used again
    "relu": torch.relu_,
    "silu": silu,
}


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


class MLP(nn.Module):
    """Linear layers with activations between, `[B, sizes[0]] -> [B, sizes[-1]]`.

    Args:
        sizes: Input width, hidden widths, output width.
        activation: `tanh`, `relu` or `silu`, between the `layers`; none after the last.
        last_gain: With a number, all layers are orthogonal, the last one with this
            gain. Without, they keep PyTorch's initialisation.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        activation: str = "tanh",
        last_gain: float | None = None,
    ) -> None:
        super().__init__()
        layers = [nn.Linear(inputs, outputs) for inputs, outputs in pairwise(sizes)]
        if last_gain is not None:
            for layer in layers[:-1]:
                orthogonal(layer)
            orthogonal(layers[-1], last_gain)
        self.layers = cast("Sequence[nn.Linear]", nn.ModuleList(layers))
        self.activation = ACTIVATIONS[activation]

    def forward(self, x: Tensor) -> Tensor:
        first, *others = self.layers
        x = first(x)
        for layer in others:
            x = layer(self.activation(x))
        return x


class ActionCritic(nn.Module):
    """`Q(s, a)`, `[..., B, 1]`: the `head` reads features `[B, F]` and actions."""

    def __init__(self, encoder: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head

    def features(self, obs: Any, action: Tensor) -> Tensor:
        """The head's input, `[B, F + D]`."""
        features = self.encoder(obs)
        return torch.cat([features, action.reshape(len(features), -1)], dim=-1)

    def forward(self, obs: Any, action: Tensor) -> Tensor:
        return self.head(self.features(obs, action)).squeeze(-1)
