"""Exploration that begins with random actions."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor

from yieldrl import abstractions
from yieldrl.foundations import spaces


class RandomWarmUp(abstractions.Agent):
    """Uniformly random until `learning_starts`, by `noisy_action` from then on."""

    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """An action `[N, ...]` in [-1, 1]; the buffer keeps it with its noise."""
        if self.sample_step < self.algorithm.config.learning_starts:
            return self.random_action(obs), {}
        return self.noisy_action(obs), {}

    def random_action(self, obs: Any) -> Tensor:
        """Uniform within the bounds, `[N, ...]`."""
        model: Any = self.algorithm.model
        shape = spaces.batch_size(obs), *model.action_shape
        action = torch.empty(shape, dtype=torch.float32, device=self.device)
        return action.uniform_(-1, 1, generator=self.generator)

    @abstractmethod
    def noisy_action(self, obs: Any) -> Tensor:
        """An action `[N, ...]` that explores by what was learned."""
