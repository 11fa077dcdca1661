"""The agent of DQN: explores by acting at random now and then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl import abstractions
from yieldrl.abstractions import Logs
from yieldrl.envs import spaces
from yieldrl.experiments import linear

from .algorithm import Algorithm
from .config import Config


class Agent(abstractions.Agent):
    """Epsilon-greedy: random with probability epsilon, greedy otherwise."""

    algorithm: Algorithm

    def __init__(self, algorithm: Algorithm, config: Config) -> None:
        super().__init__(algorithm, config)
        # NumPy's, where a throw takes a fifth of the time, and to look makes none wait.
        self.dice = np.random.default_rng(config.seed)

    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """Actions `[N]`, each environment with its own epsilon and its own dice."""
        count = spaces.batch_size(obs)
        bold = self.dice.random(count) < self.epsilons(count)
        if not np.count_nonzero(bold):
            return self.algorithm.predict(obs), {}
        choices = self.algorithm.model.num_actions
        random = torch.from_numpy(self.dice.integers(choices, size=count))
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

    def state_dict(self) -> dict[str, Any]:
        """What every agent has, and the dice."""
        return {**super().state_dict(), "dice": self.dice.bit_generator.state}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.dice.bit_generator.state = state["dice"]

    def epsilon(self) -> float:
        """Probability of a random action at this step, before it is spread."""
        config = self.algorithm.config
        steps = config.exploration_fraction * config.total_steps
        ends = config.epsilon_start, config.epsilon_end
        return linear(*ends, self.sample_step, steps)

    def epsilons(self, num_envs: int) -> np.ndarray | float:
        """The same, `[N]` where `epsilon_spread` makes environments differ."""
        spread = self.algorithm.config.epsilon_spread
        if spread == 0 or num_envs == 1:
            return self.epsilon()
        place = np.linspace(0, 1, num_envs)
        return self.epsilon() ** (1 + place * spread)
