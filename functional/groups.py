"""Comparison of episode returns within groups."""

import torch
from torch import Tensor


def centred(returns: Tensor, counted: Tensor) -> Tensor:
    """Returns minus the mean of the counted returns of their group.

    Args:
        returns: `[K, G]` float32, of K groups of G episodes.
        counted: `[K, G]` bool, which returns to count.

    Returns:
        Differences `[K, G]`: exactly 0 where all counted returns of a group are equal,
        and where a return is not counted.
    """
    lowest = returns.where(counted, torch.inf).amin(1, keepdim=True)
    above = (returns - lowest).where(counted, 0.0)
    return (above - group_mean(above, counted)).where(counted, 0.0)


def share_above(returns: Tensor, counted: Tensor) -> Tensor:
    """The share of counted returns above the lowest of their group, `[K, 1]`.

    It is the success rate of a group whose returns are 0 and 1, with both present.
    """
    lowest = returns.where(counted, torch.inf).amin(1, keepdim=True)
    return group_mean((returns > lowest).float(), counted)


def group_mean(values: Tensor, counted: Tensor) -> Tensor:
    """The mean of the counted values `[K, G]` of each group, `[K, 1]`; 0 if none."""
    total = values.where(counted, 0.0).sum(1, keepdim=True)
    return total / counted.sum(1, keepdim=True).clamp(min=1)
