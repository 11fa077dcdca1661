"""The mathematics of TD3.

Fujimoto et al. 2018, "Addressing Function Approximation Error in Actor-Critic Methods",
arXiv:1802.09477, algorithm 1.
"""

from collections.abc import Mapping
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import ddpg

from .config import Config
from .model import Model


class Algorithm(ddpg.Algorithm):
    """DDPG that trusts its critic less: the lower of two, smoothed, ahead of the actor.

    Differs from the paper: the critics' losses are halved, which Adam does not notice.
    """

    config: Config
    model: Model
    target_model: Model

    def __init__(self, model: Model, config: Config) -> None:
        super().__init__(model, config)
        self.critic_steps = 0

    def target_action(self, data: TensorDict) -> Tensor:
        """The target actor's action with clipped noise, which smooths values."""
        action = super().target_action(data)
        limit = self.config.noise_clip
        noise = torch.randn_like(action) * self.config.policy_noise
        return (action + noise.clamp(-limit, limit)).clamp(-1, 1)

    def target_value(self, data: TensorDict) -> Tensor:
        """`min_i Q_i'(s', a')`, `[B]`: one critic alone would overestimate."""
        return super().target_value(data).amin(0)

    def actor_loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """`-Q1(s, mu(s))`, its mean over the batch."""
        obs = data["obs"]
        loss = -self.model.first_value(obs, self.model.action(obs)).mean()
        return loss, {"actor_loss": loss.detach()}

    def learn(self, data: TensorDict) -> Logs:
        """One gradient step of the critics; every `policy_delay` steps the actor's."""
        logs = self.learn_critic(data)
        if (self.critic_steps + 1) % self.config.policy_delay == 0:
            logs |= self.learn_actor(data)
        self.critic_steps += 1
        return logs

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "critic_steps": self.critic_steps}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        parts = dict(state)
        self.critic_steps = parts.pop("critic_steps")
        super().load_state_dict(parts)
