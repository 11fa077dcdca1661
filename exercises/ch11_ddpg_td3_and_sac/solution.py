"""TD3 and SAC, their targets written out."""

import math

from torch import Tensor
from torch.nn.functional import softplus


def smoothed_action(action: Tensor, noise: Tensor, noise_clip: float) -> Tensor:
    """TD3's target action `[B, D]`: noise beside the action, both within limits."""
    return (action + noise.clamp(-noise_clip, noise_clip)).clamp(-1, 1)


def squashed_log_prob(normal: Tensor, mean: Tensor, log_std: Tensor) -> Tensor:
    """The log of the density of `tanh(normal)`, `[B]`, of tensors `[B, D]`."""
    z = (normal - mean) / log_std.exp()
    log_normal = -0.5 * z.square() - log_std - 0.5 * math.log(2 * math.pi)
    log_slope = 2 * (math.log(2) - normal - softplus(-2 * normal))
    return (log_normal - log_slope).sum(-1)


def td_target(
    reward: Tensor,
    next_value: Tensor,
    log_prob: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    gamma: float,
    alpha: Tensor | float,
) -> Tensor:
    """What all critics move towards, `[B]`; with `alpha = 0` it is TD3's."""
    soft_value = next_value.amin(0) - alpha * log_prob
    target = reward + gamma * soft_value * ~terminated
    return target.detach()
