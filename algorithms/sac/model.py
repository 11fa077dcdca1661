"""The networks of SAC: a stochastic actor, two critics."""

from typing import Any

from gymnasium import Space
from torch import Tensor, nn

from yieldrl.algorithms.off_policy import BoxModel
from yieldrl.networks import (
    MLP,
    ActionCritic,
    EnsembleMLP,
    SquashedGaussian,
    make_encoder,
)

from .config import Config

LOG_STD = (-20.0, 2.0)


class Model(BoxModel):
    """A policy `pi(.|s)`; two critics as one batched network, `Q(s, a)`, `[2, B]`."""

    def __init__(
        self, observation_space: Space[Any], action_space: Space[Any], config: Config
    ) -> None:
        super().__init__(observation_space, action_space)
        size, hidden = self.action_size, config.hidden_sizes
        encoder = make_encoder(observation_space)
        outputs = MLP([encoder.size, *hidden, 2 * size], "relu")
        self.actor = nn.Sequential(encoder, outputs)
        encoder = make_encoder(observation_space)
        sizes, normalizes = [encoder.size + size, *hidden, 1], config.normalize_critic
        heads = EnsembleMLP(2, sizes, "relu", normalizes=normalizes)
        self.critic = ActionCritic(encoder, heads)

    def policy(self, obs: Any) -> SquashedGaussian:
        """`pi(.|s)`, a distribution over actions in [-1, 1]."""
        mean, log_std = self.actor(obs).chunk(2, dim=-1)
        return SquashedGaussian(mean, log_std.clamp(*LOG_STD), self.action_shape)

    def action(self, obs: Any) -> Tensor:
        """`tanh` of the mean, `[B, ...]`."""
        return self.policy(obs).mode()

    def value(self, obs: Any, action: Tensor | None = None) -> Tensor:
        """`Q(s, a)` of both critics, `[2, B]`."""
        assert action is not None, "the critics judge an action"
        return self.critic(obs, action)
