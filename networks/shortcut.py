"""Past PyTorch: a few observations through narrow layers are NumPy's work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from torch import nn

MAX_PRODUCTS = 50_000
"""Rows times parameters up to which NumPy, on one thread, is the sooner one."""


class Shortcut:
    """Knows which observations a function of a model better gets as arrays.

    A step of one environment asks a narrow network for one answer. Its arithmetic takes
    five microseconds, and the way of eight operations through PyTorch fifty: between
    two updates, most of its code has left the processor's caches. `MLP` answers arrays
    with arrays, so a function that is made of MLPs and operators that both know
    (`layers(obs).argmax(1)`) runs in NumPy from end to end. One that is not, because
    images are convolved or `torch.softmax` is called, refuses arrays: that is tried
    once, here.

    Args:
        function: From observations `[B, ...]` to what `explore` chooses from.
        model: Whose parameters it uses.
        shape: Shape of one observation, a vector of float32.
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        model: nn.Module,
        shape: tuple[int, ...],
    ) -> None:
        on_cpu = all(parameter.is_cpu for parameter in model.parameters())
        size = sum(parameter.numel() for parameter in model.parameters())
        takes = on_cpu and size > 0 and _answers(function, shape)
        self._shape = shape
        self.max_rows = MAX_PRODUCTS // size if takes else 0

    def takes(self, obs: Any) -> bool:
        """Whether these observations should not become tensors."""
        return (
            type(obs) is np.ndarray
            and obs.shape[1:] == self._shape
            and 0 < len(obs) <= self.max_rows
            and obs.dtype == np.float32
        )


def _answers(function: Callable[[Any], Any], shape: tuple[int, ...]) -> bool:
    """Whether a function answers an array with an array."""
    try:
        return type(function(np.zeros((1, *shape), np.float32))) is np.ndarray
    except Exception:  # whatever its parts say of something that is no tensor
        return False
