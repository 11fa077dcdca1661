"""The agent of PPO: explores by sampling from its policy."""

from __future__ import annotations

from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl import abstractions

from .algorithm import Algorithm
from .config import Config


class Agent(abstractions.Agent):
    """Samples actions from the policy."""

    algorithm: Algorithm

    def __init__(self, algorithm: Algorithm, config: Config) -> None:
        super().__init__(algorithm, config)
        self.acting = algorithm.runtime.function("acting", self.act)

    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """A random action `[B, ...]` of the policy, and what the buffer keeps of it."""
        extras = {**self.acting({"obs": obs}, self.generator)}
        return extras.pop("action"), extras

    def act(self, inputs: Any, generator: torch.Generator) -> dict[str, Any]:
        """Explore, as a function of tensors: an `action`, and what the buffer keeps."""
        model, record = self.algorithm.model, self.records_log_prob
        action, extras = model.sample(inputs["obs"], generator, record=record)
        return {"action": action, **extras}

    def annotate(self, obs: Any, action: Tensor) -> dict[str, Tensor]:
        """The `log_prob` of actions `[B, ...]` and, with a critic, the `value [B]`."""
        log_prob, _, value = self.algorithm.model.evaluate_actions(obs, action)
        return {"log_prob": log_prob} | ({} if value is None else {"value": value})

    def complete(self, rollout: TensorDict) -> TensorDict:
        """A rollout `[T, N]` with log-probabilities, values and its advantages."""
        return self.algorithm.complete(super().complete(rollout))
