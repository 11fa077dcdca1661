"""Integer arithmetic of the games: choices by chance, and sums."""

from __future__ import annotations

import torch
from torch import Tensor


def choices(number: Tensor, *counts: int | Tensor) -> list[Tensor]:
    """Independent fair choices below each count, int32, out of one number in [0, 1).

    A number costs more to draw than a choice to take. It has 24 bits, so the product of
    the counts should be ten thousand at most.
    """
    chosen: list[Tensor] = []
    for count in counts:
        number = number * count
        chosen.append(number.int())
        number = number - chosen[-1]
    return chosen


def total(x: Tensor) -> Tensor:
    """The sum over the first axis, int32."""
    return x.sum(0, dtype=torch.int32)
