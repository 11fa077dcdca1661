"""REINFORCE with its returns and its loss written out."""

import torch
from torch import Tensor


def returns_to_go(reward: Tensor, ended: Tensor, gamma: float) -> Tensor:
    """What followed each step until its episode ended, `[T, N]`, of `[T, N]`."""
    returns = torch.zeros_like(reward)
    following = torch.zeros_like(reward[0])
    for t in reversed(range(len(reward))):
        following = reward[t] + gamma * following * ~ended[t]
        returns[t] = following
    return returns


def policy_loss(
    logits: Tensor, action: Tensor, returns: Tensor, baseline: Tensor
) -> Tensor:
    """The number whose gradient is the negative policy gradient, 0-dim."""
    log_prob = logits.log_softmax(1).gather(1, action[:, None]).squeeze(1)
    weight = returns - baseline.detach()
    return -(weight * log_prob).mean()
