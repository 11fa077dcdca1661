"""The agent of recurrent PPO: it remembers the episodes that it is in."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from yieldrl.algorithms import ppo
from yieldrl.foundations import spaces
from yieldrl.networks import Distribution, Memory
from yieldrl.on_policy import RememberingAgent

from .algorithm import Algorithm


class Agent(RememberingAgent, ppo.Agent):
    """PPO's, with a memory."""

    algorithm: Algorithm

    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """A random action `[B, ...]`, and from which memory it was chosen."""
        policy, extras = self._look(obs, self.sampling)
        action = policy.sample(self.generator)
        if self.records_log_prob:
            extras["log_prob"] = policy.log_prob(action)
        return action, extras

    def exploit(self, obs: Any) -> Tensor:
        """The most likely action `[B, ...]`."""
        return self._look(obs, self.predicting)[0].mode()

    def _look(
        self, obs: Any, remembered: Memory
    ) -> tuple[Distribution, dict[str, Tensor]]:
        """The policy for these observations; they are remembered from now on."""
        memory, first = remembered.recall(spaces.batch_size(obs))
        before = {"memory": memory, "first": first}
        policy, after = self.algorithm.model.act({"obs": obs, **before})
        remembered.keep(after)
        return policy, before
