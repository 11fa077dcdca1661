"""Record a function's random draws, and replay numbers that were drawn outside it."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

IN_PLACE = frozenset({Tensor.exponential_, Tensor.normal_, Tensor.uniform_})
"""Methods that overwrite a tensor with random numbers."""


@dataclass(frozen=True)
class Draw:
    """One draw of a function from a generator: method, shape, dtype, arguments."""

    fill: Any
    shape: torch.Size
    dtype: torch.dtype
    args: tuple[Any, ...]

    @property
    def kind(self) -> tuple[Any, ...]:
        return self.fill.__name__, *self.args

    def __call__(self, generator: torch.Generator) -> Tensor:
        """Draw new numbers, in the same way as the function."""
        drawn = torch.empty(self.shape, dtype=self.dtype, device=generator.device)
        return self.fill(drawn, *self.args, generator=generator)


class RecordDraws(TorchFunctionMode):
    """Records the draws that a function makes from a generator."""

    def __init__(self) -> None:
        super().__init__()
        self.draws: list[Draw] = []  # in call order
        self.unknown: str | None = None  # a function that draws, not in `IN_PLACE`

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if kwargs.get("generator") is not None:
            filled, *rest = args
            plain = not any(isinstance(x, Tensor) for x in rest)
            if func in IN_PLACE and len(kwargs) == 1 and plain:
                self.draws.append(Draw(func, filled.shape, filled.dtype, (*rest,)))
            else:
                self.unknown = func.__name__
        return func(*args, **kwargs)


class ReplayDraws(TorchFunctionMode):
    """Supplies a function with random numbers that were drawn before, in order.

    Each was drawn by a `Draw` and has its `Draw.kind`; used numbers are removed.
    ValueError inside the block if the function makes a different draw.
    """

    def __init__(self, left: list[tuple[Tensor, Any]]) -> None:
        super().__init__()
        self.left = left

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if kwargs.get("generator") is None:
            return func(*args, **kwargs)
        filled, *rest = args
        numbers, kind = self.left.pop(0)
        same = filled.shape == numbers.shape and filled.dtype == numbers.dtype
        if not same or (func.__name__, *rest) != kind:
            raise ValueError("other random numbers are drawn than before")
        return filled.copy_(numbers)
