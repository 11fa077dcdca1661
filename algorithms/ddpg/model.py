"""The actor and the critic of DDPG."""

from collections.abc import Sequence
from typing import Any

import torch
from gymnasium import Space
from torch import Tensor, nn

from yieldrl.algorithms.off_policy import BoxModel
from yieldrl.networks import MLP, ActionCritic, make_encoder

from .config import Config


class Model(BoxModel):
    """An actor `mu(s)` and a critic `Q(s, a)`, which share nothing."""

    def __init__(
        self, observation_space: Space[Any], action_space: Space[Any], config: Config
    ) -> None:
        super().__init__(observation_space, action_space)
        size, hidden = self.action_size, config.hidden_sizes
        encoder = make_encoder(observation_space)
        head = MLP([encoder.size, *hidden, size], "relu")
        self.actor = nn.Sequential(encoder, head)
        encoder = make_encoder(observation_space)
        head = self.make_critic([encoder.size + size, *hidden, 1])
        self.critic = ActionCritic(encoder, head)

    def make_critic(self, sizes: Sequence[int]) -> nn.Module:
        """The critic's layers behind its encoder."""
        return MLP(sizes, "relu")

    def action(self, obs: Any) -> Tensor:
        """`mu(s)` in [-1, 1], `[B, ...]`."""
        return torch.tanh(self.actor(obs)).reshape(-1, *self.action_shape)

    def value(self, obs: Any, action: Tensor | None = None) -> Tensor:
        """`Q(s, a)`, `[B]`."""
        assert action is not None, "the critic judges an action"
        return self.critic(obs, action)
