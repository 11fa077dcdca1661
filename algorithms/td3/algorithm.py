"""The mathematics of TD3.

Fujimoto et al. 2018, "Addressing Function Approximation Error in Actor-Critic Methods",
arXiv:1802.09477, algorithm 1.
"""

from collections.abc import Sequence
from typing import Any

import torch
from pydantic.dataclasses import dataclass
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl.abstractions import Logs
from yieldrl.algorithms import ddpg
from yieldrl.core import Coefficient, Steps
from yieldrl.networks import EnsembleMLP


@dataclass(frozen=True, kw_only=True)
class Config(ddpg.Config):
    """Twin delayed DDPG; the defaults learn Pendulum-v1."""

    policy_delay: Steps = 2
    """Gradient steps of the critics for each one of the actor. More let the critics
    settle before the actor follows them; 1 moves both together."""

    target_every: int = 2
    """Gradient steps between synchronisations of the target networks; in the paper as
    many as `policy_delay`. More make targets steadier and learning slower."""

    policy_noise: Coefficient = 0.2
    """Standard deviation of the normal noise that smooths the target action, as a share
    of half the width of its bounds. Higher averages values over more actions; 0 turns
    it off."""

    noise_clip: Coefficient = 0.5
    """Largest size of the noise on the target action, as a share of half the width of
    its bounds. Lower keeps the target action closer to what the actor chose."""


class Model(ddpg.Model):
    """DDPG's networks, with two critics as one batched network: `Q(s, a)`, `[2, B]`."""

    def make_critic(self, sizes: Sequence[int]) -> nn.Module:
        """The layers of both critics."""
        return EnsembleMLP(2, sizes, "relu")

    def first_value(self, obs: Any, action: Tensor) -> Tensor:
        """`Q1(s, a)`, of the first critic alone, `[B]`."""
        head = self.critic.head
        assert isinstance(head, EnsembleMLP)
        return head.first(self.critic.features(obs, action)).squeeze(-1)


class Algorithm(ddpg.Algorithm):
    """DDPG that trusts its critic less: the lower of two, smoothed, ahead of the actor.

    Differs from the paper: the critics' losses are halved, which Adam does not notice.
    """

    config: Config
    model: Model
    target_model: Model

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
        if (self.counters.learn_step + 1) % self.config.policy_delay == 0:
            logs |= self.learn_actor(data)
        return logs


class Trainer(ddpg.Trainer):
    """After each step into the replay buffer, learn; the actor every other time."""

    config: Config
    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
