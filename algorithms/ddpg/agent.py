"""The agent of DDPG: explores by adding noise to what the actor chose."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from yieldrl import abstractions
from yieldrl.foundations import spaces

from .algorithm import Algorithm


class Agent(abstractions.Agent):
    """Uniformly random at first, the actor's action with normal noise from then on."""

    algorithm: Algorithm

    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """An action `[N, ...]` in [-1, 1]; the buffer keeps it with its noise."""
        if self.sample_step < self.algorithm.config.learning_starts:
            return self.random_action(obs), {}
        return self.noisy_action(obs), {}

    def random_action(self, obs: Any) -> Tensor:
        """Uniform within the bounds, `[N, ...]`."""
        shape = spaces.batch_size(obs), *self.algorithm.model.action_shape
        action = torch.empty(shape, dtype=torch.float32, device=self.device)
        return action.uniform_(-1, 1, generator=self.generator)

    def noisy_action(self, obs: Any) -> Tensor:
        """`clip(mu(s) + sigma * N(0, 1))`, `[N, ...]`."""
        action = self.algorithm.predict(obs)
        noise = torch.empty_like(action).normal_(generator=self.generator)
        noisy = action.add(noise, alpha=self.algorithm.config.exploration_noise)
        return noisy.clamp_(-1, 1)
