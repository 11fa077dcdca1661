"""The agent of PPO: explores by sampling from its policy."""

from __future__ import annotations

from typing import Any

from tensordict import TensorDict
from torch import Tensor

from yieldrl import abstractions

from .algorithm import Algorithm


class Agent(abstractions.Agent):
    """Samples actions; hands rollouts to the algorithm and sets its step size."""

    algorithm: Algorithm

    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """A random action `[B, ...]` of the policy, and what it computed on the way."""
        return self.algorithm.model.sample(obs, self.generator)

    def prepare(self, rollout: TensorDict) -> TensorDict:
        """Advantages and the like for a rollout `[T, N]`, before learning from it."""
        config = self.algorithm.config
        if config.anneal_learning_rate:
            before = self.sample_step - rollout.numel()
            self.algorithm.anneal(before / config.total_steps)
        return self.algorithm.prepare(rollout.to(self.device))
