"""The agent of DQN: explores by acting at random now and then."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from yieldrl import abstractions

from .algorithm import Algorithm
from .config import Config


class Agent(abstractions.Agent):
    """Epsilon-greedy: random with probability epsilon, greedy otherwise."""

    algorithm: Algorithm

    def __init__(self, algorithm: Algorithm, config: Config) -> None:
        super().__init__(algorithm, config)
        # The dice are thrown on the CPU, where looking at them makes no one wait.
        self.generator = torch.Generator().manual_seed(config.seed)

    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """Actions `[N]`, each environment with its own epsilon and its own dice."""
        greedy = self.algorithm.predict(obs)
        bold = torch.rand(greedy.shape, generator=self.generator) < self.epsilons(
            len(greedy)
        )
        if not bold.any():
            return greedy, {}
        choices = self.algorithm.model.num_actions
        random = torch.randint(choices, greedy.shape, generator=self.generator)
        return torch.where(bold.to(self.device), random.to(self.device), greedy), {}

    def epsilon(self) -> float:
        """Probability of a random action at this step, before it is spread."""
        config = self.algorithm.config
        steps = config.exploration_fraction * config.total_steps
        done = min(1.0, self.sample_step / steps) if steps > 0 else 1.0
        return config.epsilon_start + done * (config.epsilon_end - config.epsilon_start)

    def epsilons(self, num_envs: int) -> Tensor | float:
        """The same, `[N]` where `epsilon_spread` makes environments differ."""
        spread = self.algorithm.config.epsilon_spread
        if spread == 0 or num_envs == 1:
            return self.epsilon()
        place = torch.linspace(0, 1, num_envs)
        return self.epsilon() ** (1 + place * spread)
