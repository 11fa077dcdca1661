"""The table of Q-learning."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Discrete, MultiDiscrete
from torch import Tensor, nn

from yieldrl import abstractions

from .config import Config

LARGEST_TABLE = 2**28  # entries: one gigabyte, and as much again for their visits


class Model(abstractions.Model):
    """`Q(s, a)` as a table: a row for every state, a column for every action.

    Args:
        observation_space: Discrete, or MultiDiscrete, of which every combination of
            choices is a state.
        action_space: Discrete.
        config: As every model gets it; a table needs nothing of it.

    Attributes:
        table: `Q`, `[S, A]`.

    Raises:
        TypeError: If states or actions cannot be numbered.
        ValueError: If there are too many of them.
    """

    start: Tensor
    stride: Tensor

    def __init__(
        self,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        config: Config,
    ) -> None:
        if not isinstance(observation_space, Discrete | MultiDiscrete):
            raise TypeError(
                "a table needs states that can be numbered, Discrete or MultiDiscrete,"
                f" got {observation_space}: take DQN, whose network takes any"
            )
        if not isinstance(action_space, Discrete):
            raise TypeError(
                f"a table needs a Discrete action space, got {action_space}: take PPO"
                " for continuous or several actions"
            )
        super().__init__(observation_space, action_space)
        several = isinstance(observation_space, MultiDiscrete)
        choices = observation_space.nvec if several else observation_space.n
        # Like the digits of a clock: a choice counts for all that come after it.
        below = np.cumprod(np.append(1, np.flip(choices)), dtype=float)
        self.num_states, self.num_actions = int(below[-1]), int(action_space.n)
        if self.num_states * self.num_actions > LARGEST_TABLE:
            raise ValueError(
                f"a table of {below[-1]:.3g} states x {self.num_actions} actions is too"
                " large to fill: take DQN, whose network generalises"
            )
        stride = np.flip(below[:-1]).astype(np.int64).reshape(np.shape(choices))
        self.register_buffer("stride", torch.from_numpy(stride), persistent=False)
        start = torch.as_tensor(observation_space.start)
        self.register_buffer("start", start, persistent=False)
        self.is_numbered = not several and not start.any()
        table = torch.zeros(self.num_states, self.num_actions)
        self.table = nn.Parameter(table, requires_grad=False)

    def state(self, obs: Tensor) -> Tensor:
        """The number of each observation's state `[B]`, its row in the table."""
        if self.is_numbered:
            return obs
        number = (obs - self.start) * self.stride
        return number if number.ndim == 1 else number.flatten(1).sum(1)

    def value(self, obs: Tensor, action: Tensor | None = None) -> Tensor:
        """`Q(s, .)`, `[B, A]`; with actions `[B]` their `Q(s, a)`, `[B]`."""
        state = self.state(obs)
        return self.table[state] if action is None else self.table[state, action]
