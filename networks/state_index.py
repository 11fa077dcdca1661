"""Indices of discrete states, for tables."""

from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.spaces import Discrete, MultiDiscrete
from torch import Tensor, nn


class StateIndex(nn.Module):
    """Maps observations `[B, ...]` to indices of their states, `[B]`.

    `count` is the number of states, of combinations if MultiDiscrete; or TypeError.
    """

    start: Tensor
    stride: Tensor

    def __init__(self, space: gym.Space[Any]) -> None:
        super().__init__()
        if not isinstance(space, Discrete | MultiDiscrete):
            raise TypeError(
                "a table needs states that can be numbered, Discrete or MultiDiscrete,"
                f" got {space}: take DQN, whose network takes any"
            )
        several = isinstance(space, MultiDiscrete)
        choices = space.nvec if several else space.n
        # Place values, as of digits: the product of the sizes of all later choices.
        below = np.cumprod(np.append(1, np.flip(choices)), dtype=float)
        self.count = int(below[-1])
        stride = below[:-1] if self.count < 2**63 else np.zeros(len(below) - 1)
        stride = np.flip(stride).astype(np.int64).reshape(np.shape(choices))
        self.register_buffer("stride", torch.from_numpy(stride), persistent=False)
        start = torch.as_tensor(space.start)
        self.register_buffer("start", start, persistent=False)
        self.is_numbered = not several and not start.any()

    def forward(self, obs: Tensor) -> Tensor:
        if self.is_numbered:
            return obs
        number = (obs - self.start) * self.stride
        return number if number.ndim == 1 else number.flatten(1).sum(1)
