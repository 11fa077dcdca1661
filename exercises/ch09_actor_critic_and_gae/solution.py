"""A2C with generalized advantage estimation, written out."""

import torch
from torch import Tensor


def gae(
    reward: Tensor,
    value: Tensor,
    next_value: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    gamma: float,
    gae_lambda: float,
) -> Tensor:
    """Generalized advantage estimates `[T, N]`, of tensors `[T, N]`."""
    delta = reward + gamma * next_value * ~terminated - value
    carry = gamma * gae_lambda * ~(terminated | truncated)
    advantage = torch.zeros_like(reward)
    following = torch.zeros_like(reward[0])
    for t in reversed(range(len(reward))):
        following = delta[t] + carry[t] * following
        advantage[t] = following
    return advantage.detach()
