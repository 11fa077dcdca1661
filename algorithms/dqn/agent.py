"""The agent of DQN: explores by acting at random now and then."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from yieldrl.algorithms.off_policy import EpsilonGreedy
from yieldrl.core import derive_seed, spaces
from yieldrl.core.conversion import to_tensor

from .algorithm import Algorithm
from .config import Config


class Agent(EpsilonGreedy):
    """Epsilon-greedy: random with probability epsilon, greedy otherwise."""

    def __init__(self, algorithm: Algorithm, config: Config) -> None:
        super().__init__(algorithm, config)
        # NumPy draws five times faster, and reading them does not synchronize a GPU.
        self.rng = np.random.default_rng(derive_seed(config.seed, "exploration"))

    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """Actions `[N]`, random in each environment with probability epsilon."""
        count = spaces.batch_size(obs)
        explores = self.rng.random(count) < self.epsilon()
        if not np.count_nonzero(explores):
            return self.algorithm.predict(obs), {}
        random = self.rng.integers(self.algorithm.model.num_actions, size=count)
        random = to_tensor(random, self.device)
        if explores.all():  # no need to evaluate the network
            return random, {}
        where = to_tensor(explores, self.device)
        return torch.where(where, random, self.algorithm.predict(obs)), {}

    def state_dict(self) -> dict[str, Any]:
        """The state of every agent, and that of `rng`."""
        return {**super().state_dict(), "rng": self.rng.bit_generator.state}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.rng.bit_generator.state = state["rng"]
