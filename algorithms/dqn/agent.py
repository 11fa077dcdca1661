"""The agent of DQN: explores by acting at random now and then."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl import abstractions
from yieldrl.abstractions import Logs
from yieldrl.envs import spaces

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
        count = spaces.batch_size(obs)
        dice = torch.rand(count, generator=self.generator).numpy()
        bold = dice < self.epsilons(count)  # NumPy: a fifth of the time for a few
        if not np.count_nonzero(bold):
            return self.algorithm.predict(obs), {}
        choices = self.algorithm.model.num_actions
        random = torch.randint(choices, (count,), generator=self.generator)
        random = random.to(self.device)
        if bold.all():  # then nobody asks the network
            return random, {}
        greedy = self.algorithm.predict(obs)
        return torch.where(torch.from_numpy(bold).to(self.device), random, greedy), {}

    def learn(self, data: TensorDict) -> Logs:
        """One gradient step on a batch `[B]`, of the size that is due by now."""
        config = self.algorithm.config
        if config.anneal_learning_rate:
            self.algorithm.anneal(self.sample_step / config.total_steps)
        return super().learn(data)

    def epsilon(self) -> float:
        """Probability of a random action at this step, before it is spread."""
        config = self.algorithm.config
        steps = config.exploration_fraction * config.total_steps
        done = min(1.0, self.sample_step / steps) if steps > 0 else 1.0
        return config.epsilon_start + done * (config.epsilon_end - config.epsilon_start)

    def epsilons(self, num_envs: int) -> np.ndarray | float:
        """The same, `[N]` where `epsilon_spread` makes environments differ."""
        spread = self.algorithm.config.epsilon_spread
        if spread == 0 or num_envs == 1:
            return self.epsilon()
        place = np.linspace(0, 1, num_envs)
        return self.epsilon() ** (1 + place * spread)
