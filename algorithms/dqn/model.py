"""The Q-network of DQN."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium.spaces import Discrete
from torch import Tensor

from yieldrl import abstractions
from yieldrl.networks import MLP, make_encoder

from .config import Config


class Model(abstractions.Model):
    """`Q(s, .)` for every action at once, from one network.

    Args:
        observation_space: Box, Discrete, MultiDiscrete, MultiBinary or Dict of them.
        action_space: Discrete.
        config: Says the hidden layers.

    Raises:
        TypeError: If actions are not a single choice.
    """

    def __init__(
        self,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        config: Config,
    ) -> None:
        if not isinstance(action_space, Discrete):
            raise TypeError(
                f"DQN needs a Discrete action space, got {action_space}: take PPO for"
                " continuous or several actions"
            )
        super().__init__(observation_space, action_space)
        self.encoder = make_encoder(observation_space)
        self.num_actions = int(action_space.n)
        sizes = [self.encoder.size, *config.hidden_sizes, self.num_actions]
        self.head = MLP(sizes, "relu")

    def value(self, obs: Any, action: Tensor | None = None) -> Tensor:
        """`Q(s, .)`, `[B, A]`; with actions `[B]` their `Q(s, a)`, `[B]`."""
        q_value = self.head(self.encoder(obs))
        if action is None:
            return q_value
        return q_value.gather(1, action.unsqueeze(1)).squeeze(1)
