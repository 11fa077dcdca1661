"""The agent of PPO: explores by sampling from its policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl import abstractions
from yieldrl.runtime import in_precision
from yieldrl.speed import CompiledCall

from .algorithm import Algorithm
from .config import Config


class Agent(abstractions.Agent):
    """Samples actions, and says which weights chose them.

    Attributes:
        records_policy: Whether `log_prob` and `policy_version` are written down when
            acting. They must be where the weights may change before the rollout is
            learned from, as they do beside a collector in the background. Otherwise the
            policy may leave that to one batch over the whole rollout.
    """

    algorithm: Algorithm

    def __init__(self, algorithm: Algorithm, config: Config) -> None:
        super().__init__(algorithm, config)
        self.records_policy = False
        act = in_precision(config.precision, self.device, self.act)
        self.acting = CompiledCall("acting", act, algorithm.plan)

    @property
    def acted_since(self) -> int | None:
        """The `policy_version` of the first action that waits to be learned from."""
        return self.algorithm.acted_since

    @acted_since.setter
    def acted_since(self, version: int | None) -> None:
        self.algorithm.acted_since = version

    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """A random action `[B, ...]` of the policy, and what the buffer keeps of it."""
        extras = {**self.acting({"obs": obs}, self.generator)}
        action = extras.pop("action")
        return action, self.sign(extras, len(action))

    def act(self, inputs: Any, generator: torch.Generator) -> dict[str, Any]:
        """Explore, as a function of tensors: an `action`, and what the buffer keeps."""
        model, record = self.algorithm.model, self.records_policy
        action, extras = model.sample(inputs["obs"], generator, record=record)
        return {"action": action, **extras}

    def sign(self, extras: dict[str, Tensor], count: int) -> dict[str, Tensor]:
        """Remember which weights act, in the extras of `count` actions if they must."""
        if self.algorithm.acted_since is None:
            self.algorithm.acted_since = self.policy_version
        if not self.records_policy:
            return extras
        version = torch.full((count,), self.policy_version, device=self.device)
        return {**extras, "policy_version": version}

    def actor(self) -> Self:
        actor = super().actor()
        actor.records_policy = True
        return actor

    def complete(self, rollout: TensorDict) -> TensorDict:
        """A rollout `[T, N]` with what the policy says of it, and its advantages."""
        return self.algorithm.complete(rollout)

    def state_dict(self) -> dict[str, Any]:
        """What every agent has, and since when it acts with the weights of now."""
        return {**super().state_dict(), "acted_since": self.acted_since}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.acted_since = state["acted_since"]
