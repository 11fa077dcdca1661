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
from yieldrl.foundations import linear, spaces
from yieldrl.networks import Shortcut

from .algorithm import Algorithm
from .config import Config


class Agent(abstractions.Agent):
    """Epsilon-greedy: random with probability epsilon, greedy otherwise."""

    algorithm: Algorithm

    def __init__(self, algorithm: Algorithm, config: Config) -> None:
        super().__init__(algorithm, config)
        # NumPy's, where a throw takes a fifth of the time, and to look makes none wait.
        self.dice = np.random.default_rng(config.seed)
        space = self.model.observation_space
        self.shortcut = (
            Shortcut(algorithm.predict, self.model, space.shape)
            if config.compile and space.shape and self._border.changes_nothing
            else None
        )

    def sample(self, obs: Any) -> tuple[Any, dict[str, Tensor]]:
        """Explore. `compile=True` lets a narrow network act in NumPy on the CPU."""
        if self.shortcut is not None and self.shortcut.takes(obs):
            return self.explore(obs)
        return super().sample(obs)

    def explore(self, obs: Any) -> tuple[Any, dict[str, Tensor]]:
        """Actions `[N]`, each environment with its own epsilon and its own dice.

        Of tensors a tensor; of an array that took the shortcut an array.
        """
        count = spaces.batch_size(obs)
        bold = self.dice.random(count) < self.epsilons(count)
        if not np.count_nonzero(bold):
            return self.algorithm.predict(obs), {}
        random = self.dice.integers(self.algorithm.model.num_actions, size=count)
        # Where all are bold, nobody asks the network.
        greedy = None if bold.all() else self.algorithm.predict(obs)
        if isinstance(obs, np.ndarray):
            return random if greedy is None else np.where(bold, random, greedy), {}
        random = torch.from_numpy(random).to(self.device)
        if greedy is None:
            return random, {}
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
