"""Chapter 11, DDPG, TD3 and SAC."""

import math

import torch
from tensordict import TensorDict
from torch import Tensor
from torch.nn.functional import softplus

from yieldrl.algorithms import sac, td3


def smoothed_action(action: Tensor, noise: Tensor, noise_clip: float) -> Tensor:
    """TD3's target action `[B, D]`: noise beside the action, both within limits.

    Args:
        action: The target actor's, `[B, D]`, in [-1, 1].
        noise: Normal, `[B, D]`, with TD3's standard deviation already.
        noise_clip: The largest size of the noise that may be added.
    """
    # The gap, one line: clip the noise, add it, and stay within the actions' bounds.
    # gap: TD3's target action: two things are clipped
    return (action + noise.clamp(-noise_clip, noise_clip)).clamp(-1, 1)
    # end


def squashed_log_prob(normal: Tensor, mean: Tensor, log_std: Tensor) -> Tensor:
    """The log of the density of `tanh(normal)`, `[B]`, of tensors `[B, D]`.

    Args:
        normal: `u`, drawn from the normals, before `tanh`.
        mean: Of the normals.
        log_std: Logarithm of their standard deviations.
    """
    # The gap. With z = (u - mean) / std, for each dimension
    #   log N(u) = -z^2 / 2 - log std - log(2 pi) / 2
    #   log pi   = log N(u) - log(1 - tanh(u)^2)
    # and then their sum. The last logarithm must stay finite: for u = 20 as well.
    # gap: the log of a normal's density, less that of tanh's slope
    z = (normal - mean) / log_std.exp()
    log_normal = -0.5 * z.square() - log_std - 0.5 * math.log(2 * math.pi)
    log_slope = 2 * (math.log(2) - normal - softplus(-2 * normal))
    return (log_normal - log_slope).sum(-1)
    # end


def td_target(
    reward: Tensor,
    next_value: Tensor,
    log_prob: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    gamma: float,
    alpha: Tensor | float,
) -> Tensor:
    """What all critics move towards, `[B]`; with `alpha = 0` it is TD3's.

    Args:
        reward: What each step earned, `[B]`.
        next_value: What each target critic says of the next state and action, `[K, B]`.
        log_prob: Log of the density of that action, `[B]`.
        terminated: Bool `[B]`; the episode ended there, and no future follows.
        truncated: Bool `[B]`; it was cut there, though the world would have gone on.
        gamma: Discount.
        alpha: Temperature: the price of certainty.

    Returns:
        A new tensor without a gradient. Not all of the arguments are needed.
    """
    # The gap. r + gamma (min_i Q_i(s', a') - alpha log pi(a'|s')), and what of it is
    # left where the episode has ended?
    # gap: the lower critic, less alpha log pi, is the future
    soft_value = next_value.amin(0) - alpha * log_prob
    target = reward + gamma * soft_value * ~terminated
    return target.detach()
    # end


class TD3(td3.Algorithm):
    """TD3 that moves towards the target above."""

    def target_action(self, data: TensorDict) -> Tensor:
        """The target actor's action with clipped noise, `[B, D]`."""
        action = self.target_model.action(data["next_obs"])
        noise = torch.randn_like(action) * self.config.policy_noise
        return smoothed_action(action, noise, self.config.noise_clip)

    def td_target(self, data: TensorDict) -> Tensor:
        """Targets `[B]` of transitions `[B]`."""
        action = self.target_action(data)
        next_value = self.target_model.value(data["next_obs"], action)
        no_entropy = torch.zeros_like(data["reward"])
        rest = data["terminated"], data["truncated"], self.config.gamma, 0.0
        return td_target(data["reward"], next_value, no_entropy, *rest)


class SAC(sac.Algorithm):
    """SAC that moves towards the same, with the entropy of its policy."""

    def td_target(self, data: TensorDict) -> Tensor:
        """Targets `[B]` of transitions `[B]`."""
        policy = self.model.policy(data["next_obs"])
        noise = torch.randn_like(policy.mean)
        normal = policy.mean + policy.log_std.exp() * noise
        log_prob = squashed_log_prob(normal, policy.mean, policy.log_std)
        next_value = self.target_critic(data["next_obs"], torch.tanh(normal))
        ends = data["terminated"], data["truncated"]
        rest = *ends, self.config.gamma, self.temperature()
        return td_target(data["reward"], next_value, log_prob, *rest)
