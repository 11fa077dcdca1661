"""PPO that standardizes its observations by a class of its own."""

from typing import Any

import torch
from tensordict import TensorDict

from yieldrl.algorithms import ppo


class Model(ppo.Model):
    """PPO's actor and critic, which see standardized observations.

    Attributes:
        count: How many observations were seen.
        total: Their sum, `[D]`.
        squares: The sum of their squares, `[D]`.
    """

    def __init__(
        self, observation_space: Any, action_space: Any, config: ppo.Config
    ) -> None:
        super().__init__(observation_space, action_space, config)
        self.count = torch.zeros(())
        self.total = torch.zeros(observation_space.shape)
        self.squares = torch.zeros(observation_space.shape)

    def observed(self, obs: Any, names: tuple[str, ...] = ()) -> Any:
        """Observations `[B, D]` less their mean, over their standard deviation."""
        if self.count == 0:
            return obs
        mean = self.total / self.count
        variance = self.squares / self.count - mean.square()
        return (obs - mean) / (variance.clamp(min=0) + 1e-8).sqrt()

    def update_normalization(self, data: TensorDict) -> None:
        """Take in the observations of a rollout `[T, N]`."""
        obs = data["obs"].flatten(0, 1)
        self.count = self.count + len(obs)
        self.total = self.total + obs.sum(0)
        self.squares = self.squares + obs.square().sum(0)
