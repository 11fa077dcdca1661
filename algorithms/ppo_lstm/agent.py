"""The agent of recurrent PPO: it remembers the episodes that it is in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from yieldrl.algorithms import ppo
from yieldrl.foundations import spaces
from yieldrl.networks import Distribution, Memory

from .algorithm import Algorithm
from .config import Config


class Agent(ppo.Agent):
    """PPO's, with a memory for `sample` and another for `predict`.

    Attributes:
        sampling: What it remembers of the episodes that it learns from.
        predicting: What it remembers of the episodes in which it acts well.
    """

    algorithm: Algorithm
    has_memory = True

    def __init__(self, algorithm: Algorithm, config: Config) -> None:
        super().__init__(algorithm, config)
        size = algorithm.model.memory_size
        self.sampling, self.predicting = (Memory(size, self.device) for _ in range(2))

    def begin_episode(self, where: Any = None, *, exploring: bool = False) -> None:
        """Forget the episodes that ended."""
        (self.sampling if exploring else self.predicting).begin(where)

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

    def state_dict(self) -> dict[str, Any]:
        """PPO's, and what is remembered of the episodes that it learns from."""
        return {**super().state_dict(), "memory": self.sampling.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.sampling.load_state_dict(state["memory"])

    def _look(
        self, obs: Any, remembered: Memory
    ) -> tuple[Distribution, dict[str, Tensor]]:
        """The policy for these observations; they are remembered from now on."""
        memory, first = remembered.recall(spaces.batch_size(obs))
        before = {"memory": memory, "first": first}
        policy, after = self.algorithm.model.act({"obs": obs, **before})
        remembered.keep(after)
        return policy, before
