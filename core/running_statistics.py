"""Running mean and variance, and values standardized by them."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

EPSILON = 1e-8  # added to variances, to avoid division by zero


def combine_moments(
    mean: Tensor,
    var: Tensor,
    count: Tensor,
    more_mean: Tensor,
    more_var: Tensor,
    n: Any,
) -> tuple[Tensor, Tensor, Tensor]:
    """Combine mean, variance and count of `count` values and `n` more; one may be 0.

    Chan, Golub & LeVeque 1979, "Updating Formulae and a Pairwise Algorithm for
    Computing Sample Variances".
    """
    total = count + n
    delta = more_mean - mean
    share = n / total
    between = delta.square() * (share * count / total)
    var = var * (count / total) + more_var * share + between
    return mean + delta * share, var, total


def means(logs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The mean of each metric over the steps that have it, 0-dim; `{}` of no steps."""
    values: dict[str, list[Tensor]] = {}
    for log in logs:
        for name, value in log.items():
            values.setdefault(name, []).append(torch.as_tensor(value))
    return {
        name: torch.stack(numbers).float().mean() for name, numbers in values.items()
    }


def masked_moments(batch: Tensor, where: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Mean, variance and number of the rows of `batch [N, ...]` where `where [N]`."""
    mask = where.reshape(-1, *[1] * (batch.ndim - 1))
    n = where.sum()
    size = n.clamp(min=1)
    mean = torch.where(mask, batch, 0).sum(0) / size
    var = torch.where(mask, batch - mean, 0).square().sum(0) / size
    return mean, var, n


def update_moments(
    moments: tuple[Tensor, Tensor, Tensor], more: tuple[Tensor, Tensor, Any]
) -> None:
    """Update mean, variance and count in place with those of more data."""
    for moment, value in zip(moments, combine_moments(*moments, *more), strict=True):
        moment.copy_(value)


def standardize(x: Tensor, mean: Tensor, var: Tensor, limit: float) -> Tensor:
    """`clip((x - mean) / std, -limit, limit)`."""
    return scale(x - mean, var, limit)


def scale(x: Tensor, var: Tensor, limit: float) -> Tensor:
    """`clip(x / std, -limit, limit)`."""
    return (x * torch.rsqrt(var + EPSILON)).clamp(-limit, limit)
