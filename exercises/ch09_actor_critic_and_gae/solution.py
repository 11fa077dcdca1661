"""A2C with generalized advantage estimation, written out."""

from __future__ import annotations

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
    """Generalized advantage estimates `[T, N]`, of tensors `[T, N]`."""
    delta = reward + gamma * next_value * ~terminated - value
    carry = gamma * gae_lambda * ~(terminated | truncated)
    advantage = torch.zeros_like(reward)
    following = torch.zeros_like(reward[0])
    for t in reversed(range(len(reward))):
        following = delta[t] + carry[t] * following
        advantage[t] = following
    return advantage.detach()


class Algorithm(a2c.Algorithm):
    """A2C that learns from the advantages above."""

    def advantages(self, rollout: TensorDict) -> Tensor:
        """Advantages `[T, N]` of a rollout, of rewards as they are."""
        return gae(
            rollout["reward"],
            rollout["value"],
            self.next_values(rollout),
            rollout["terminated"],
            rollout["truncated"],
            self.config.gamma,
            self.config.gae_lambda,
        )


class Trainer(a2c.Trainer):
    """The schedule of A2C, as it is."""

    algorithm_class = Algorithm


if __name__ == "__main__":
    for log in Trainer(a2c.Config(total_steps=30_000, eval_every=5_000))():
        if log["log_type"] == "evaluate":
            print(log["sample_step"], float(log["logs"]["episode_return"]))
