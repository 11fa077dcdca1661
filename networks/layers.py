"""MLPs, one or several at once, orthogonal initialisation, a critic of actions."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm, silu

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


class EnsembleMLP(nn.Module):
    """`K` MLPs that read the same input, `[B, sizes[0]] -> [K, B, sizes[-1]]`.

    Inputs may also differ per member, `[K, B, sizes[0]]`.

    Each layer of all members is one batched product, and the optimizer sees as many
    tensors as for one network. Every member is initialised separately, as `nn.Linear`.
    `weights` are `[K, inputs, outputs]` of each layer, `biases` `[K, 1, outputs]`.

    If it `normalizes`, the input of an activation has mean 0 and variance 1 over the
    layer (layer norm, Ba et al. 2016, arXiv:1607.06450, without learned gain and bias).

    >>> EnsembleMLP(2, [3, 8, 1])(torch.zeros(5, 3)).shape
    torch.Size([2, 5, 1])
    """

    def __init__(
        self,
        members: int,
        sizes: Sequence[int],
        activation: str = "relu",
        *,
        normalizes: bool = False,
    ) -> None:
        super().__init__()
        self.members, self.normalizes = members, normalizes
        self.activation = ACTIVATIONS[activation]
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for inputs, outputs in pairwise(sizes):
            layers = [nn.Linear(inputs, outputs) for _ in range(members)]
            weight = torch.stack([layer.weight.detach().t() for layer in layers])
            bias = torch.stack([layer.bias.detach() for layer in layers])
            self.weights.append(nn.Parameter(weight))
            self.biases.append(nn.Parameter(bias.unsqueeze(1)))

    def forward(self, x: Tensor) -> Tensor:
        x = x.expand(self.members, *x.shape) if x.ndim == 2 else x
        *weights, last_weight = self.weights
        *biases, last_bias = self.biases
        for weight, bias in zip(weights, biases, strict=True):
            x = self._activated(torch.baddbmm(bias, x, weight))
        # For few outputs a batched product takes seven times as long.
        parts = zip(last_bias, x.unbind(), last_weight, strict=True)
        return torch.stack([torch.addmm(*part) for part in parts])

    def first(self, x: Tensor) -> Tensor:
        """The first member alone, `[B, sizes[-1]]`."""
        *hidden, (last_weight, last_bias) = zip(self.weights, self.biases, strict=True)
        for weight, bias in hidden:
            x = self._activated(torch.addmm(bias[0], x, weight[0]))
        return torch.addmm(last_bias[0], x, last_weight[0])

    def _activated(self, x: Tensor) -> Tensor:
        return self.activation(layer_norm(x, x.shape[-1:]) if self.normalizes else x)


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
