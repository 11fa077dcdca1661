"""Exploration: epsilon-greedy with a schedule, or a random warm-up."""

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor

from yieldrl import abstractions
from yieldrl.abstractions import Logs
from yieldrl.core import spaces
from yieldrl.functional import linear


class EpsilonGreedy(abstractions.Agent):
    """An agent that acts at random with probability epsilon, otherwise greedily."""

    def epsilon(self) -> float:
        """Probability of a random action at this step."""
        config = self.algorithm.config
        steps = config.exploration_fraction * config.total_steps
        ends = config.epsilon_start, config.epsilon_end
        return linear(*ends, self.sample_step, steps)

    def exploration(self) -> Logs:
        return {"epsilon": self.epsilon()}


class RandomWarmUp(abstractions.Agent):
    """Random actions until `learning_starts`, and `noisy_action` from then on."""

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
        """An exploring action `[N, ...]` of the learned policy."""
