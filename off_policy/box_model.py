"""Models whose actions are numbers in bounds."""

import math
from typing import Any

from gymnasium import Space
from gymnasium.spaces import Box

from yieldrl import abstractions


class BoxModel(abstractions.Model):
    """A model whose actions lie in [-1, 1], whatever the environment's bounds.

    The agent scales them to the bounds; the buffer stores them unscaled. The action
    space is a Box, bounded on every side; anything else is a TypeError.
    """

    unit_box = True

    def __init__(self, observation_space: Space[Any], action_space: Space[Any]) -> None:
        if not isinstance(action_space, Box):
            raise TypeError(
                f"the action space must be a Box, got {action_space}: take DQN,"
                " sac_discrete or PPO for actions that are choices"
            )
        super().__init__(observation_space, action_space)
        self.action_shape = action_space.shape
        self.action_size = math.prod(action_space.shape)
