"""Returns of episodes compared within their groups."""

import torch
from torch import Tensor


def centred(returns: Tensor, counted: Tensor) -> Tensor:
    """Returns less the mean of those in their group that count.

    Args:
        returns: `[K, G]` float32, of K groups of G episodes.
        counted: `[K, G]` bool, which of them count.

    Returns:
        Differences `[K, G]`: exactly 0 where all in the group that count are equal, and
        where a return does not count.
    """
    lowest = returns.where(counted, torch.inf).amin(1, keepdim=True)
    above = (returns - lowest).where(counted, 0.0)
    return (above - group_mean(above, counted)).where(counted, 0.0)


def share_above(returns: Tensor, counted: Tensor) -> Tensor:
    """The share of those that count whose return is above the group's lowest, `[K, 1]`.

    With returns of 0 and 1 in a group that has both, it is the success rate.
    """
    lowest = returns.where(counted, torch.inf).amin(1, keepdim=True)
    return group_mean((returns > lowest).float(), counted)


def group_mean(values: Tensor, counted: Tensor) -> Tensor:
    """The mean of the values `[K, G]` that count in each group, `[K, 1]`; 0 of none."""
    total = values.where(counted, 0.0).sum(1, keepdim=True)
    return total / counted.sum(1, keepdim=True).clamp(min=1)
