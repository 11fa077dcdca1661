"""A few observations through narrow layers are NumPy's work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

MAX_PRODUCTS = 50_000
"""Rows times parameters up to which NumPy, on one thread, is the faster one."""


class ArrayPolicy:
    """Answers a few observations in NumPy as a function of a model does in PyTorch.

    A step of one environment asks a narrow network for one answer. Its arithmetic takes
    five microseconds, and the way of eight operations through PyTorch fifty: between
    two updates, most of its code has left the processor's caches. So the function is
    followed once, here, and what it did is done in NumPy from then on, with the
    parameters of the moment. A function that does more than apply linear layers, `tanh`
    and `relu` and take an `argmax`, because it convolves images say, is left alone.

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
        self._shape = shape
        self._operations = _followed(function)
        self._parameters = [p for _, own in self._operations for p in own]
        self._pointers: list[int] = []
        self._steps: list[tuple[Callable[..., Any], Sequence[np.ndarray]]] = []
        on_cpu = all(parameter.is_cpu for parameter in model.parameters())
        size = sum(parameter.numel() for parameter in self._parameters)
        self.max_rows = MAX_PRODUCTS // size if on_cpu and size > 0 else 0

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
        pointers = [parameter.data_ptr() for parameter in self._parameters]
        if pointers != self._pointers:  # at first, and when `.data` was replaced
            self._steps = [
                (operation, [parameter.detach().numpy() for parameter in own])
                for operation, own in self._operations
            ]
            self._pointers = pointers  # last: whoever is interrupted begins again
        for operation, arrays in self._steps:
            obs = operation(obs, *arrays)
        return obs


Operation = tuple[Callable[..., Any], Sequence[nn.Parameter]]


class _Followed:
    """Stands for observations and remembers what was done to them, nothing else."""

    def __init__(self, operations: Sequence[Operation] = ()) -> None:
        self.operations = operations

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        one, *others = args
        operation, parameters = _IN_NUMPY.get(function, (None, 0))
        if operation is None or kwargs or len(others) != parameters:
            return NotImplemented
        if not all(type(other) is nn.Parameter for other in others):
            return NotImplemented  # weights that were computed, with noise say
        return cls([*one.operations, (operation, others)])

    def float(self) -> _Followed:
        return self

    def argmax(self, dim: int) -> _Followed:
        return _Followed([*self.operations, (lambda x: x.argmax(dim), [])])


def _followed(function: Callable[[Any], Any]) -> Sequence[Operation]:
    """What a function does to its argument, if that is all known; nothing otherwise."""
    try:
        answer = function(_Followed())
    except Exception:  # whatever its parts say of something that is no tensor
        return []
    return answer.operations if isinstance(answer, _Followed) else []


def _linear(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    # Not `@`: BLAS wakes all cores for a row through 100 x 100 weights.
    return np.einsum("bi,oi->bo", x, weight) + bias


def _relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)


_IN_NUMPY: dict[Any, tuple[Callable[..., np.ndarray], int]] = {
    nn.functional.linear: (_linear, 2),
    torch.relu_: (_relu, 0),
    torch.tanh_: (np.tanh, 0),
}
"""What PyTorch's function is in NumPy, and how many parameters it takes."""
