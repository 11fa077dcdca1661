"""The mathematics of SAC.

Haarnoja et al. 2018, "Soft Actor-Critic: Off-Policy Maximum Entropy Deep Reinforcement
Learning with a Stochastic Actor", arXiv:1801.01290, and "Soft Actor-Critic Algorithms
and Applications", arXiv:1812.05905, algorithm 1.
"""

from __future__ import annotations

import math

import torch
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl.abstractions import Logs
from yieldrl.algorithms import td3
from yieldrl.networks import TargetUpdate

from .config import Config
from .model import Model


class Algorithm(td3.Algorithm):
    """TD3 with a random policy, whose entropy is rewarded at a learned rate."""

    config: Config
    model: Model
    target_model: Model

    def __init__(self, model: Model, config: Config) -> None:
        super().__init__(model, config)
        given, rate = config.temperature, config.learning_rate
        self.temperature = Temperature(1.0 if given is None else given).to(self.device)
        self.target_entropy = self.make_target_entropy()
        self.temperature_optimizer = None
        if given is None:
            alpha = self.temperature.parameters()
            self.temperature_optimizer = torch.optim.Adam(alpha, lr=rate, fused=True)

    def make_target_entropy(self) -> float:
        """The config's, or `-dim(A)`."""
        given = self.config.target_entropy
        return -math.prod(self.model.action_shape) if given is None else given

    def target_value(self, data: TensorDict) -> Tensor:
        """`min_i Q_i'(s', a') - alpha log pi(a'|s')`, `[B]`, with `a'` drawn anew."""
        obs = data["next_obs"]
        action, log_prob = self.model.policy(obs).sample_with_log_prob()
        next_value = self.target_model.value(obs, action).amin(0)
        return next_value - self.temperature() * log_prob

    def actor_loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """`alpha log pi(a|s) - min_i Q_i(s, a)`, `a` drawn anew; equation 7."""
        obs = data["obs"]
        policy = self.model.policy(obs)
        action, log_prob = policy.sample_with_log_prob()
        value = self.model.value(obs, action).amin(0)
        loss = (self.temperature().detach() * log_prob - value).mean()
        logs = {
            "actor_loss": loss.detach(),
            "entropy": -log_prob.detach().mean(),
            "policy_std": policy.log_std.detach().exp().mean(),  # before tanh
        }
        return loss, logs

    def temperature_loss(self, entropy: Tensor) -> tuple[Tensor, Logs]:
        """`alpha (H(pi) - target)`, equation 18: too random a policy lowers alpha."""
        return self.temperature() * (entropy - self.target_entropy), {}

    def learn_actor(self, data: TensorDict) -> Logs:
        """One gradient step of the actor, then one of the temperature."""
        logs = super().learn_actor(data)
        logs["temperature"] = self.temperature().detach()
        if self.temperature_optimizer is not None:
            entropy, optimizer = logs["entropy"], self.temperature_optimizer
            self.minimize(self.temperature_loss, entropy, optimizer)
        return logs

    def sync_target(self) -> None:
        """Move the target critics: the next action is the policy's of now."""
        online, target = self.model.critic, self.target_model.critic
        TargetUpdate(online, target, self.config.tau)()


class Temperature(nn.Module):
    """`alpha = exp(log_alpha)`, which stays above zero.

    Args:
        initial: What it is at first.
    """

    def __init__(self, initial: float) -> None:
        super().__init__()
        self.log_alpha = nn.Parameter(torch.tensor(initial, dtype=torch.float32).log())

    def forward(self) -> Tensor:
        return self.log_alpha.exp()
