"""Entropy over tokens, and the end of answers."""

import torch
from torch import Tensor


def entropy_of(log_p: Tensor) -> Tensor:
    """The entropy in nats `[...]` of log-probabilities `[..., V]`."""
    finite = log_p.clamp(min=torch.finfo(log_p.dtype).min)  # 0 log 0 = 0
    return -(log_p.exp() * finite).sum(-1)


def until_end(tokens: Tensor, end: int) -> Tensor:
    """Mask of tokens `[B, L]` up to and with the first `end`, bool.

    >>> until_end(torch.tensor([[5, 0, 0], [5, 6, 7]]), end=0)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    ends = tokens == end
    return ends.cumsum(1) - ends.long() == 0
