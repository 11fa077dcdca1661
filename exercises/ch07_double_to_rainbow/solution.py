"""Rainbow with its differences, written out."""

import torch
from torch import Tensor


def next_action(online_q: Tensor, target_q: Tensor) -> Tensor:
    """Double DQN: the actions `[B]` that the next states are valued by."""
    return online_q.argmax(1)


def look_ahead(
    reward: Tensor, terminated: Tensor, truncated: Tensor, gamma: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Discounted sum `[B]` of k rewards, gamma^k `[B]`, and k `[B]`."""
    n = reward.shape[1]
    stops = (terminated | truncated).long()
    used = stops.cumsum(1) - stops == 0
    length = used.sum(1)
    powers = gamma ** torch.arange(n, device=reward.device)
    return (reward * used * powers).sum(1), gamma**length, length


def project(probability: Tensor, returns: Tensor, atoms: Tensor) -> Tensor:
    """C51: move probability from any returns to evenly spaced atoms, `[B, K]`."""
    last = len(atoms) - 1
    place = ((returns - atoms[0]) / (atoms[1] - atoms[0])).clamp(0, last)
    below = place.floor().clamp(max=last - 1)
    share = place - below
    projected = torch.zeros_like(probability)
    projected.scatter_add_(1, below.long(), probability * (1 - share))
    projected.scatter_add_(1, below.long() + 1, probability * share)
    return projected
