"""Sloppy judges of sums."""

from typing import Any

import torch
from torch import Tensor

from yieldrl.foundations.text import decode


def last_digit(obs: Any, action: Tensor) -> Tensor:
    """Who looks at the last digit alone: 1 where it is that of the sum, `[N]`."""
    sums = [
        sum(map(int, text.rstrip("=").split("+"))) for text in decode(obs["prompt"])
    ]
    answers = decode(action.to(torch.uint8))
    right = [
        answer[-1:] == str(total)[-1]
        for answer, total in zip(answers, sums, strict=True)
    ]
    return torch.tensor(right, dtype=torch.float32)


def longest(obs: Any, action: Tensor) -> Tensor:
    """Who takes longer answers for better ones: their bytes, `[N]`."""
    return (action != 0).sum(1).float()
