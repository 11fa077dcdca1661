"""The agent of SAC: explores by sampling from its policy."""

from typing import Any

from torch import Tensor

from yieldrl.algorithms.off_policy import RandomWarmUp


class Agent(RandomWarmUp):
    """Uniformly random at first, drawn from the policy from then on."""

    def noisy_action(self, obs: Any) -> Tensor:
        """An action `[N, ...]` drawn from the policy."""
        return self.algorithm.model.policy(obs).sample(self.generator)
