"""The table of Q-learning."""

from typing import Any

import torch
from gymnasium import Space
from gymnasium.spaces import Discrete
from torch import Tensor, nn

from yieldrl import abstractions
from yieldrl.networks import StateIndex

from .config import Config

LARGEST_TABLE = 2**28  # entries: 1 GiB, and another for visit counts


class Model(abstractions.Model):
    """`Q(s, a)` as a `table [S, A]`, for states and actions that are choices.

    Raises:
        TypeError: If states or actions cannot be numbered.
        ValueError: If there are too many of them.
    """

    def __init__(
        self, observation_space: Space[Any], action_space: Space[Any], config: Config
    ) -> None:
        if not isinstance(action_space, Discrete):
            need = f"a table needs a Discrete action space, got {action_space}"
            raise TypeError(f"{need}: take PPO for continuous or several actions")
        super().__init__(observation_space, action_space)
        self.index = StateIndex(observation_space)
        self.num_states, self.num_actions = self.index.count, int(action_space.n)
        if self.num_states * self.num_actions > LARGEST_TABLE:
            size = f"{self.num_states:.3g} states x {self.num_actions} actions"
            remedy = "take DQN, whose network generalises"
            raise ValueError(f"a table of {size} is too large to fill: {remedy}")
        table = torch.zeros(self.num_states, self.num_actions)
        self.table = nn.Parameter(table, requires_grad=False)

    def state(self, obs: Tensor) -> Tensor:
        """The number of each observation's state `[B]`, its row in the table."""
        return self.index(obs)

    def value(self, obs: Tensor, action: Tensor | None = None) -> Tensor:
        """`Q(s, .)`, `[B, A]`; with actions `[B]` their `Q(s, a)`, `[B]`."""
        state = self.state(obs)
        return self.table[state] if action is None else self.table[state, action]
