"""Chapter 9, actor-critic and GAE."""

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms import a2c


def gae(
    reward: Tensor,
    value: Tensor,
    next_value: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    gamma: float,
    gae_lambda: float,
) -> Tensor:
    """Generalized advantage estimates `[T, N]`, of tensors `[T, N]`.

    Args:
        reward: What each step earned.
        value: `V(s_t)`, what the critic says of the state in which it was taken.
        next_value: `V(s_{t+1})`, what it says of the state that the step led to; at the
            end of an episode that is its last one, not the first of the next.
        terminated: Bool; the episode ended there, and no future follows.
        truncated: Bool; it was cut there, though the world would have gone on.
        gamma: Discount.
        gae_lambda: How far to trust rewards, 1, rather than the critic, 0.

    Returns:
        A new tensor without a gradient; the arguments stay as they are.
    """
    advantage = torch.zeros_like(reward)
    # The gap. Two lines before a loop and three in it are enough:
    #   delta_t = r_t + gamma V(s_{t+1}) - V(s_t)    a terminated step has no future
    #   A_t     = delta_t + gamma lambda A_{t+1}     the sum stops where an episode does
    # A_{t+1} is needed for A_t: which way must the loop run?
    # gap: compute delta first, then sum it backwards in time
    delta = (reward + gamma * next_value * ~terminated - value).detach()
    carry = gamma * gae_lambda * ~(terminated | truncated)
    following = torch.zeros_like(reward[0])
    for t in reversed(range(len(reward))):
        following = delta[t] + carry[t] * following
        advantage[t] = following
    # end
    return advantage


class Algorithm(a2c.Algorithm):
    """A2C that learns from the advantages above."""

    def advantages(self, rollout: TensorDict) -> Tensor:
        """Advantages `[T, N]` of a rollout, of rewards as they are."""
        values = rollout["value"], self.next_values(rollout)
        ends = rollout["terminated"], rollout["truncated"]
        discounts = self.config.gamma, self.config.gae_lambda
        return gae(rollout["reward"], *values, *ends, *discounts)
