"""Random numbers of a function, drawn outside of it: a graph has no generator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

IN_PLACE = frozenset(
    getattr(Tensor, name) for name in ("exponential_", "normal_", "uniform_")
)
"""What fills a tensor with random numbers, whatever was in it."""


@dataclass(frozen=True)
class Draw:
    """Random numbers as a function draws them from a generator."""

    fill: Any
    shape: torch.Size
    dtype: torch.dtype
    args: tuple[Any, ...]

    def __call__(self, generator: torch.Generator) -> Tensor:
        """The next ones, as the function itself would draw them."""
        drawn = torch.empty(self.shape, dtype=self.dtype, device=generator.device)
        return self.fill(drawn, *self.args, generator=generator)


class Noting(TorchFunctionMode):
    """Notes what is drawn from a generator, and draws nothing.

    Attributes:
        draws: What would have been drawn, in its order.

    Raises:
        NotImplementedError: If numbers are drawn in a way that is not in `IN_PLACE`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.draws: list[Draw] = []

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if kwargs.get("generator") is None:
            return func(*args, **kwargs)
        if func not in IN_PLACE or len(kwargs) > 1:
            raise NotImplementedError(
                f"random numbers from {func.__name__} cannot be drawn outside"
            )
        filled, *rest = args
        return self.drawn(filled, Draw(func, filled.shape, filled.dtype, (*rest,)))

    def drawn(self, filled: Tensor, draw: Draw) -> Tensor:
        """What stands for numbers just drawn: a half lies in the range of all."""
        self.draws.append(draw)
        return filled.fill_(0.5)


class Given(Noting):
    """Gives a function random numbers that were drawn before, in their order.

    Args:
        numbers: As `Draw` draws them.
    """

    def __init__(self, numbers: Sequence[Tensor]) -> None:
        super().__init__()
        self._numbers = iter(numbers)

    def drawn(self, filled: Tensor, draw: Draw) -> Tensor:
        return filled.copy_(next(self._numbers))
