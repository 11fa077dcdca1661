"""Judges of sums, one of whom can add."""

from typing import Any

import torch
from torch import Tensor

from yieldrl.foundations.text import decode


def right(obs: Any, action: Tensor) -> Tensor:
    """Who can add: 1 where the answer is the sum, `[N]`."""
    texts = zip(decode(obs["prompt"]), decode(action.to(torch.uint8)), strict=True)
    found = [answer == str(total(prompt)) for prompt, answer in texts]
    return torch.tensor(found, dtype=torch.float32)


def last_digit(obs: Any, action: Tensor) -> Tensor:
    """Who looks at the last digit alone: 1 where it is that of the sum, `[N]`."""
    texts = zip(decode(obs["prompt"]), decode(action.to(torch.uint8)), strict=True)
    found = [answer[-1:] == str(total(prompt))[-1] for prompt, answer in texts]
    return torch.tensor(found, dtype=torch.float32)


def longest(obs: Any, action: Tensor) -> Tensor:
    """Who takes longer answers for better ones: their bytes, `[N]`."""
    return (action != 0).sum(1).float()


def total(prompt: str) -> int:
    """The sum that is asked for."""
    return sum(map(int, prompt.rstrip("=").split("+")))
