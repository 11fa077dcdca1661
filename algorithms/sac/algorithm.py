"""The mathematics of SAC.

Haarnoja et al. 2018, "Soft Actor-Critic", arXiv:1801.01290, and "Soft Actor-Critic
Algorithms and Applications", arXiv:1812.05905, algorithm 1.
"""

import copy
import math
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl import abstractions
from yieldrl.abstractions import Logs
from yieldrl.networks import update_target

from .config import Config
from .model import Model


class Algorithm(abstractions.Algorithm):
    """Actor-critic whose entropy bonus is weighted by a learned temperature.

    The next state is valued by the lower of two target critics, at an action of the
    current policy. Differs from the paper: the critics' losses are halved, to which
    Adam is invariant.
    """

    config: Config
    model: Model

    def __init__(self, model: Model, config: Config) -> None:
        super().__init__(model, config)
        self.target_critic = copy.deepcopy(self.model.critic).requires_grad_(False)
        critic, actor = self.model.critic.parameters(), self.model.actor.parameters()
        given, rate = config.temperature, config.learning_rate
        self.optimizer = torch.optim.Adam(critic, lr=rate, fused=True)
        self.actor_optimizer = torch.optim.Adam(actor, lr=rate, fused=True)
        self.temperature = Temperature(1.0 if given is None else given).to(self.device)
        self.temperature_optimizer = None
        if given is None:
            alpha = self.temperature.parameters()
            self.temperature_optimizer = torch.optim.Adam(alpha, lr=rate, fused=True)
        self.target_entropy = self.make_target_entropy()

    def make_target_entropy(self) -> float:
        """The config's, or `-dim(A)`."""
        given = self.config.target_entropy
        return -math.prod(self.model.action_shape) if given is None else given

    def predict(self, obs: Any) -> Tensor:
        """The policy's mode `[B, ...]`, in [-1, 1]."""
        return self.model.policy(obs).mode()

    def target_value(self, data: TensorDict) -> Tensor:
        """`min_i Q_i'(s', a') - alpha log pi(a'|s')`, `[B]`, with `a'` drawn anew."""
        obs = data["next_obs"]
        action, log_prob = self.model.policy(obs).sample_with_log_prob()
        next_value = self.target_critic(obs, action).amin(0)
        return next_value - self.temperature() * log_prob

    @torch.no_grad()
    def td_target(self, data: TensorDict) -> Tensor:
        """`r + gamma V'(s')`, `[B]`; only a termination ends the future."""
        next_value = self.target_value(data)
        return data["reward"] + data["discount"] * next_value * ~data["terminated"]

    def critic_loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """Half the squared TD error of each critic, its mean over the batch; added."""
        q_value = self.model.value(data["obs"], data["action"])
        td_error = self.td_target(data) - q_value
        loss = 0.5 * td_error.square().mean(-1).sum()
        return loss, {"loss": loss.detach(), "q_value": q_value.detach().mean()}

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

    def learn(self, data: TensorDict) -> Logs:
        """One gradient step of the critics, then of actor and temperature, if due."""
        logs = self.minimize(self.critic_loss, data)
        if (self.counters.learn_step + 1) % self.config.policy_delay == 0:
            logs |= self.learn_actor(data)
        return logs

    def learn_actor(self, data: TensorDict) -> Logs:
        """One gradient step of the actor, then one of the temperature."""
        logs = self.minimize(self.actor_loss, data, self.actor_optimizer)
        logs["temperature"] = self.temperature().detach()
        if self.temperature_optimizer is not None:
            entropy, optimizer = logs["entropy"], self.temperature_optimizer
            self.minimize(self.temperature_loss, entropy, optimizer)
        return logs

    def sync_target(self) -> None:
        """Move the target critics: `theta' += tau (theta - theta')`."""
        update_target(self.model.critic, self.target_critic, self.config.tau)


class Temperature(nn.Module):
    """`alpha = exp(log_alpha)`, which stays above zero, and is `initial` at first."""

    def __init__(self, initial: float) -> None:
        super().__init__()
        self.log_alpha = nn.Parameter(torch.tensor(initial, dtype=torch.float32).log())

    def forward(self) -> Tensor:
        return self.log_alpha.exp()
