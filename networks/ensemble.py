"""Several networks of equal shape as one batched network."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm

from yieldrl.networks.layers import ACTIVATIONS


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
