"""The agent of DQN: explores by acting at random now and then."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from yieldrl import abstractions

from .algorithm import Algorithm


class Agent(abstractions.Agent):
    """Epsilon-greedy: random with probability epsilon, greedy otherwise."""

    algorithm: Algorithm

    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """Actions `[N]`, each environment with its own epsilon and its own dice."""
        greedy = self.algorithm.predict(obs)
        size, dice, on = greedy.shape, self.generator, self.device
        choices = self.algorithm.model.num_actions
        bold = torch.rand(size, generator=dice, device=on) < self.epsilons(len(greedy))
        random = torch.randint(choices, size, generator=dice, device=on)
        return torch.where(bold, random, greedy), {}

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
        place = torch.linspace(0, 1, num_envs, device=self.device)
        return self.epsilon() ** (1 + place * spread)
