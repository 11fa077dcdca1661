"""The actor and the critic of DDPG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import gymnasium
import torch
from gymnasium.spaces import Box
from torch import Tensor, nn

from yieldrl import abstractions
from yieldrl.networks import MLP, ActionCritic, make_encoder

from .config import Config


class Model(abstractions.Model):
    """An actor `mu(s)` and a critic `Q(s, a)`, which share nothing.

    Actions lie in [-1, 1] here, whatever the environment's bounds: the agent stretches
    them, and the buffer keeps them as they are.

    Args:
        observation_space: Box, Discrete, MultiDiscrete, MultiBinary or Dict of them.
        action_space: Box, bounded on every side.
        config: Says the hidden layers.

    Raises:
        TypeError: If actions are not numbers.
    """

    unit_box = True

    def __init__(
        self,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        config: Config,
    ) -> None:
        if not isinstance(action_space, Box):
            raise TypeError(
                f"the action space must be a Box, got {action_space}: take DQN,"
                " sac_discrete or PPO for actions that are choices"
            )
        super().__init__(observation_space, action_space)
        self.action_shape = action_space.shape
        size, hidden = math.prod(action_space.shape), config.hidden_sizes
        encoder = make_encoder(observation_space)
        head = self.make_actor([encoder.size, *hidden, size])
        self.actor = nn.Sequential(encoder, head)
        encoder = make_encoder(observation_space)
        head = self.make_critic([encoder.size + size, *hidden, 1])
        self.critic = ActionCritic(encoder, head)

    def make_actor(self, sizes: Sequence[int]) -> nn.Module:
        """The actor's layers behind its encoder."""
        return MLP(sizes, "relu")

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
