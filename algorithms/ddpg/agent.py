"""The agent of DDPG: explores by adding noise to what the actor chose."""

from typing import Any

import torch
from torch import Tensor

from yieldrl.algorithms.off_policy import RandomWarmUp


class Agent(RandomWarmUp):
    """Uniformly random at first, the actor's action with normal noise from then on."""

    def noisy_action(self, obs: Any) -> Tensor:
        """`clip(mu(s) + sigma * N(0, 1))`, `[N, ...]`."""
        action = self.algorithm.predict(obs)
        noise = torch.empty_like(action).normal_(generator=self.generator)
        noisy = action.add(noise, alpha=self.algorithm.config.exploration_noise)
        return noisy.clamp_(-1, 1)
