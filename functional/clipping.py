"""The clipped surrogate of PPO, with separate bounds for each side."""

import torch
from torch import Tensor


def clipped_surrogate(
    ratio: Tensor,
    advantage: Tensor,
    low: float,
    high: float | None = None,
    dual: float | None = None,
) -> Tensor:
    """`min(r A, clip(r, 1 - low, 1 + high) A)`, to be maximised.

    Schulman et al. 2017, arXiv:1707.06347, equation 7; with two bounds Yu et al. 2025,
    "DAPO", arXiv:2503.14476, equation 10. Where an advantage is negative and a ratio
    large, this is unbounded below: `max(..., dual * A)` bounds it, Ye et al. 2020,
    "Mastering Complex Control in MOBA Games with Deep Reinforcement Learning",
    arXiv:1912.09729, equation 5.

    Args:
        ratio: Probability of the action now over that when it was taken, `[...]`.
        advantage: Of the same shape, or one that broadcasts to it.
        low: How far a ratio may fall below 1.
        high: How far a ratio may rise above 1; by default as far.
        dual: Factor of that bound, above 1; None for no bound.

    Returns:
        The objective, to be maximised, `[...]`.

    >>> ratio = torch.tensor([1.5, 1.5, 5.0])
    >>> clipped_surrogate(ratio, torch.tensor([1.0, -1.0, -1.0]), 0.2, 0.3, dual=3.0)
    tensor([ 1.3000, -1.5000, -3.0000])
    """
    clipped = ratio.clamp(1 - low, 1 + (low if high is None else high))
    objective = torch.minimum(ratio * advantage, clipped * advantage)
    if dual is None:
        return objective
    bounded = torch.maximum(objective, dual * advantage)
    return torch.where(advantage < 0, bounded, objective)
