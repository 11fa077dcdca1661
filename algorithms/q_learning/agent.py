"""The agent of Q-learning: explores by acting at random now and then."""

from typing import Any

import torch
from torch import Tensor

from yieldrl.algorithms.off_policy import EpsilonGreedy


class Agent(EpsilonGreedy):
    """Epsilon-greedy: random with probability epsilon, greedy otherwise."""

    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """Actions `[N]`, random in each environment with probability epsilon.

        Of several best actions one is drawn at random. An untouched table is nothing
        but ties, and always to take the first would be to walk into the same wall.
        """
        q_value = self.algorithm.model.value(obs)
        options: dict[str, Any] = {"generator": self.generator, "device": self.device}
        options["dtype"] = torch.float32
        explores = torch.rand(len(q_value), 1, **options) < self.epsilon()
        best = q_value == q_value.amax(1, keepdim=True)
        # 1 to 2 for what may be chosen, 0 to 1 for the rest; exploring, all may be.
        score = (best | explores) + torch.rand(q_value.shape, **options)
        return score.argmax(1), {}
