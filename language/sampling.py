"""How undecided a model is over tokens, and where answers end."""

import torch
from torch import Tensor


def entropy_of(log_p: Tensor) -> Tensor:
    """The entropy in nats `[...]` of logarithms of probabilities `[..., V]`."""
    finite = log_p.clamp(min=torch.finfo(log_p.dtype).min)  # 0 log 0 = 0
    return -(log_p.exp() * finite).sum(-1)


def until_end(tokens: Tensor, end: int) -> Tensor:
    """Which tokens `[B, L]` come before the first `end`, or are it, bool.

    >>> until_end(torch.tensor([[5, 0, 0], [5, 6, 7]]), end=0)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    ends = tokens == end
    return ends.cumsum(1) - ends.long() == 0
