"""What imagined steps are worth, and how far a model is right, written out."""

from collections.abc import Callable

import torch
from torch import Tensor


def imagined_returns(
    reward: Tensor, end: Tensor, next_value: Tensor, gamma: float, gae_lambda: float
) -> Tensor:
    """The lambda-returns `[H, B]` of imagined branches."""
    later, returns = next_value[-1], []
    for t in reversed(range(len(reward))):
        future = (1 - gae_lambda) * next_value[t] + gae_lambda * later
        later = reward[t] + gamma * (1 - end[t]) * future
        returns.append(later)
    return torch.stack(returns[::-1])


def k_step_errors(
    step: Callable[[Tensor, Tensor], Tensor],
    obs: Tensor,
    action: Tensor,
    next_obs: Tensor,
    scale: Tensor,
) -> Tensor:
    """How far off a model is after 1, 2, ... T steps, `[T]`."""
    state, errors = obs[0], []
    for t in range(len(action)):
        state = step(state, action[t])
        error = (state - next_obs[t]) / scale
        errors.append(error.square().mean().sqrt())
    return torch.stack(errors)
