"""The agent of A2C: explores by sampling from its policy."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from yieldrl import abstractions

from .algorithm import Algorithm


class Agent(abstractions.Agent):
    """Samples actions from the policy."""

    algorithm: Algorithm

    def act(self, inputs: Any, generator: torch.Generator) -> dict[str, Any]:
        """A random `action [B, ...]` of the policy, and what the buffer keeps of it."""
        model, record = self.algorithm.model, self.records_log_prob
        action, extras = model.sample(inputs["obs"], generator, record=record)
        return {"action": action, **extras}

    def annotate(self, obs: Any, action: Tensor) -> dict[str, Tensor]:
        """`V(s)` `[B]`: where its own weights acted there is no need of `log_prob`."""
        return {"value": self.algorithm.values(obs)}
