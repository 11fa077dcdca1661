"""Plain layers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import linear

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh_,  # in place: what a linear layer gave, no one else needs
    "relu": torch.relu_,
}


def _relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)


ARRAY_ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "tanh": np.tanh,
    "relu": _relu,
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

    An `nn.Sequential` of the same layers takes twice as long when a single observation
    passes: calling a module costs as much as a narrow layer's product. An array is
    answered with an array, by NumPy and on one thread; see `Shortcut`.

    Args:
        sizes: Input width, hidden widths, output width.
        activation: `tanh` or `relu`, between the layers; none after the last.
        last_gain: With a number, all layers are orthogonal, the last one with this
            gain. Without, they keep PyTorch's initialisation.
    """

    _parameters: dict[str, Any]  # weight_0, bias_0, weight_1, ... in this order

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
        self.activation = ACTIVATIONS[activation]
        for i, layer in enumerate(layers):
            for name, parameter in layer.named_parameters():
                self.register_parameter(f"{name}_{i}", parameter)
        self._array_activation = ARRAY_ACTIVATIONS[activation]
        self._pointers: list[int] = []
        self._arrays: list[np.ndarray] = []

    def forward(self, x: Any) -> Any:
        if isinstance(x, np.ndarray):
            return self._through_arrays(x)
        return self.through(x, self._parameters.values())

    def through(self, x: Tensor, parameters: Iterable[Tensor]) -> Tensor:
        """`x` through the layers with these weights and biases in place of its own."""
        weight, bias, *others = parameters
        x = affine(x, weight, bias)
        for i in range(0, len(others), 2):
            x = affine(self.activation(x), others[i], others[i + 1])
        return x

    def _through_arrays(self, x: np.ndarray) -> np.ndarray:
        """The same, with the arrays that share the parameters' memory."""
        parameters = self._parameters.values()
        pointers = [parameter.data_ptr() for parameter in parameters]
        if pointers != self._pointers:  # the first time, and when `.data` was replaced
            self._arrays = [parameter.detach().numpy() for parameter in parameters]
            self._pointers = pointers
        weight, bias, *others = self._arrays
        # Not `@`: BLAS wakes all cores for a row through 100 x 100 weights.
        x = np.einsum("bi,oi->bo", x, weight) + bias
        for i in range(0, len(others), 2):
            x = (
                np.einsum("bi,oi->bo", self._array_activation(x), others[i])
                + others[i + 1]
            )
        return x


def affine(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """`x W^T + b`. Compiled code adds the bias where it applies the activation."""
    if torch.compiler.is_compiling():
        return x @ weight.t() + bias
    return linear(x, weight, bias)
