"""Models whose actions are numbers in bounds."""

from __future__ import annotations

import math
from typing import Any

import gymnasium
from gymnasium.spaces import Box

from yieldrl import abstractions


class BoxModel(abstractions.Model):
    """A model whose actions lie in [-1, 1], whatever the environment's bounds.

    The agent stretches them, and the buffer keeps them as they are.

    Args:
        observation_space: Box, Discrete, MultiDiscrete, MultiBinary or Dict of them.
        action_space: Box, bounded on every side.

    Attributes:
        action_shape: Shape of one action.
        action_size: How many numbers it has.

    Raises:
        TypeError: If actions are not numbers.
    """

    unit_box = True

    def __init__(
        self,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
    ) -> None:
        if not isinstance(action_space, Box):
            raise TypeError(
                f"the action space must be a Box, got {action_space}: take DQN,"
                " sac_discrete or PPO for actions that are choices"
            )
        super().__init__(observation_space, action_space)
        self.action_shape = action_space.shape
        self.action_size = math.prod(action_space.shape)
