"""Agents that sample from their policy, and that remember their episodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from yieldrl import abstractions
from yieldrl.foundations import Config
from yieldrl.networks import Memory


class SamplingAgent(abstractions.Agent):
    """Samples actions from the policy; a subclass says what is annotated of them."""

    def act(self, inputs: Any, generator: torch.Generator) -> dict[str, Any]:
        """A random `action [B, ...]` of the policy, and what the buffer keeps of it."""
        model: Any = self.algorithm.model
        record = self.records_log_prob
        action, extras = model.sample(inputs["obs"], generator, record=record)
        return {"action": action, **extras}


class RememberingAgent(abstractions.Agent):
    """A memory for `sample` and another for `predict`, of `model.memory_size` numbers.

    Attributes:
        sampling: What it remembers of the episodes that it learns from.
        predicting: What it remembers of the episodes in which it acts well.
    """

    has_memory = True

    def __init__(self, algorithm: Any, config: Config) -> None:
        super().__init__(algorithm, config)
        size = algorithm.model.memory_size
        self.sampling, self.predicting = (Memory(size, self.device) for _ in range(2))

    def begin_episode(self, where: Any = None, *, exploring: bool = False) -> None:
        """Forget the episodes that ended."""
        (self.sampling if exploring else self.predicting).begin(where)

    def state_dict(self) -> dict[str, Any]:
        """Every agent's, and what is remembered of the episodes that it learns from."""
        return {**super().state_dict(), "memory": self.sampling.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.sampling.load_state_dict(state["memory"])
