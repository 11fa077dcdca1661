"""DQN with its target and its loss, written out."""

import math

import torch
from torch import Tensor

from yieldrl.exercises.ch06_dqn.exercise import Network


def td_target(
    online: Network,
    target: Network,
    reward: Tensor,
    next_obs: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    gamma: float,
) -> Tensor:
    """What `Q(s, a)` is moved towards, `[B]`, for transitions `[B]`."""
    with torch.no_grad():
        best = target(next_obs).amax(1)
    return reward + gamma * best * ~terminated


def element_loss(
    online: Network, obs: Tensor, action: Tensor, goal: Tensor, clip: float = math.inf
) -> Tensor:
    """The loss of every transition, `[B]`: Huber's."""
    q_value = online(obs).gather(1, action.unsqueeze(1)).squeeze(1)
    error = (goal - q_value).abs()
    squared = error.clamp(max=clip)
    return squared * (error - squared / 2)
