"""A few observations through narrow layers are NumPy's work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

MAX_PRODUCTS = 50_000
"""Rows times parameters up to which NumPy, on one thread, is the faster one."""


class ArrayPolicy:
    """Answers a few observations in NumPy, by the very function that PyTorch runs.

    A step of one environment asks a narrow network for one answer. Its arithmetic takes
    five microseconds, and the way of eight operations through PyTorch fifty: between
    two updates, most of its code has left the processor's caches. So the function is
    called with an array that passes itself off as a tensor: the few operations that
    layers are made of (`linear`, `tanh`, `relu`) it does in NumPy. A function that
    needs others, because it convolves images or calls `torch.softmax`, fails on it:
    that is tried once, here.

    Args:
        function: From observations `[B, ...]` to what is wanted of them.
        model: Whose parameters it uses.
        shape: Shape of one observation, a vector of float32.

    Attributes:
        max_rows: Up to how many observations it answers; 0 if it answers none.
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        model: nn.Module,
        shape: tuple[int, ...],
    ) -> None:
        self._function, self._shape = function, shape
        on_cpu = all(parameter.is_cpu for parameter in model.parameters())
        size = sum(parameter.numel() for parameter in model.parameters())
        able = on_cpu and size > 0 and self._succeeds()
        self.max_rows = MAX_PRODUCTS // size if able else 0

    def takes(self, obs: Any) -> bool:
        """Whether these observations should not become tensors."""
        return (
            type(obs) is np.ndarray
            and obs.shape[1:] == self._shape
            and 0 < len(obs) <= self.max_rows
            and obs.dtype == np.float32
        )

    def __call__(self, obs: np.ndarray) -> np.ndarray:
        """The function's answer to observations `[B, ...]`, as an array."""
        return self._function(obs.view(_Array)).view(np.ndarray)

    def _succeeds(self) -> bool:
        try:
            zeros = np.zeros((1, *self._shape), np.float32)
            answer = self._function(zeros.view(_Array))
        except Exception:  # whatever its parts say of something that is no tensor
            return False
        return type(answer) is _Array


class _Array(np.ndarray):
    """An array that PyTorch's functions take for a tensor (`__torch_function__`)."""

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if kwargs or function not in _IN_NUMPY:
            return NotImplemented
        if not all(isinstance(x, _Array | nn.Parameter) for x in args):
            return NotImplemented  # weights that were computed, with noise say
        return _IN_NUMPY[function](*args)

    def float(self) -> _Array:
        """What a tensor of float32 answers: itself."""
        return self


def _linear(x: np.ndarray, weight: torch.Tensor, bias: torch.Tensor) -> np.ndarray:
    # Arrays that share the parameters' memory. Not `@`: BLAS wakes all cores for a row
    # through 100 x 100 weights.
    product = np.einsum("bi,oi->bo", x, weight.detach().numpy())
    return (product + bias.detach().numpy()).view(_Array)


def _relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0, out=x)


def _tanh(x: np.ndarray) -> np.ndarray:
    return np.tanh(x, out=x)


_IN_NUMPY: dict[Any, Callable[..., np.ndarray]] = {
    nn.functional.linear: _linear,
    torch.relu_: _relu,
    torch.tanh_: _tanh,
}
