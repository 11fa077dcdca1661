"""The mathematics of A2C.

Mnih et al. 2016, "Asynchronous Methods for Deep Reinforcement Learning",
arXiv:1602.01783, algorithm S3, with its threads in step.
"""

from __future__ import annotations

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import ppo

from .config import Config


class Algorithm(ppo.Algorithm):
    """The policy gradient itself, with value loss and entropy bonus.

    PPO's gradient at its very first step is this one: the ratio is 1 there, so no clip
    acts, and the gradient of the ratio is that of the log-probability (Huang et al.
    2022, "A2C is a special case of PPO", arXiv:2205.09123).

    Differs from the paper: environments in step (A2C) for threads that write into one
    network whenever they are ready (A3C), actor and critic apart, orthogonal
    initialisation, scaled rewards, and RMSprop with epsilon outside of the square root.
    """

    config: Config

    def make_optimizer(self) -> torch.optim.Optimizer:
        """RMSprop without momentum, equations S2 and S3."""
        rate = self.config.learning_rate
        return torch.optim.RMSprop(self.parameters, lr=rate, alpha=0.99, eps=1e-5)

    def remember_policy(self, rollout: TensorDict) -> None:
        """Nothing: the one step comes while the policy that acted is still there."""

    def objective(
        self, data: TensorDict, log_prob: Tensor, entropy: Tensor, value: Tensor
    ) -> tuple[Tensor, Logs]:
        """What to minimise on a rollout `[B]`, and what to log of it."""
        config = self.config
        # Its gradient is the policy gradient, -E[A grad log pi(a | s)].
        policy_loss = -(log_prob * self.normalized(data["advantage"])).mean()
        value_loss = self.value_loss(value, data)
        entropy = entropy.mean()
        loss = (
            policy_loss + config.value_coef * value_loss - config.entropy_coef * entropy
        )
        logs = {
            "loss": loss,
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "entropy": entropy,
        }
        return loss, {name: metric.detach() for name, metric in logs.items()}
