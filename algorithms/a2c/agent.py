"""The agent of A2C: explores by sampling from its policy."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from yieldrl.algorithms import ppo

from .algorithm import Algorithm


class Agent(ppo.Agent):
    """PPO's; of actions that its own weights chose nothing but the value is asked."""

    algorithm: Algorithm

    def annotate(self, obs: Any, action: Tensor) -> dict[str, Tensor]:
        """`V(s)` `[B]`: where the ratio is 1 there is no need of a `log_prob`."""
        return {"value": self.algorithm.values(obs)}
