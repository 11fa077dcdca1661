"""Record a function's random draws, and replay numbers drawn outside of it."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

IN_PLACE = frozenset({Tensor.exponential_, Tensor.normal_, Tensor.uniform_})
"""Methods that overwrite a tensor with random numbers."""


@dataclass(frozen=True)
class Draw:
    """Random numbers as a function draws them from a generator."""

    fill: Any
    shape: torch.Size
    dtype: torch.dtype
    args: tuple[Any, ...]

    @property
    def kind(self) -> tuple[Any, ...]:
        return self.fill.__name__, *self.args

    def __call__(self, generator: torch.Generator) -> Tensor:
        """Draw the next ones, as the function itself would."""
        drawn = torch.empty(self.shape, dtype=self.dtype, device=generator.device)
        return self.fill(drawn, *self.args, generator=generator)


class RecordDraws(TorchFunctionMode):
    """Records which random numbers are drawn from a generator."""

    def __init__(self) -> None:
        super().__init__()
        self.draws: list[Draw] = []  # in their order
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
    """Gives a function random numbers that were drawn before, in their order.

    They are as `Draw` draws them, each with its `Draw.kind`; what is drawn is removed.
    ValueError within it if the function draws others.
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
