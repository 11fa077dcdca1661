"""The agent of PPO: explores by sampling from its policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl import abstractions

from .algorithm import Algorithm
from .config import Config


class Agent(abstractions.Agent):
    """Samples actions; hands rollouts to the algorithm and sets its learning rate.

    Attributes:
        records_policy: Whether `log_prob` and `policy_version` are written down when
            acting. They must be where the weights may change before the rollout is
            learned from, as they do beside a collector in the background. Otherwise one
            batch over the whole rollout computes it, in a tenth of the time.
        acted_since: The `policy_version` of the first action since the latest rollout;
            None before it.
    """

    algorithm: Algorithm

    def __init__(self, algorithm: Algorithm, config: Config) -> None:
        super().__init__(algorithm, config)
        self.records_policy = False
        self.acted_since: int | None = None

    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """A random action `[B, ...]` of the policy, and what the buffer keeps of it."""
        model, record = self.algorithm.model, self.records_policy
        action, extras = model.sample(obs, self.generator, record=record)
        return action, self.sign(extras, len(action))

    def sign(self, extras: dict[str, Tensor], count: int) -> dict[str, Tensor]:
        """Remember which weights act, in the extras of `count` actions if they must."""
        if self.acted_since is None:
            self.acted_since = self.policy_version
        if not self.records_policy:
            return extras
        version = torch.full((count,), self.policy_version, device=self.device)
        return {**extras, "policy_version": version}

    def prepare(self, rollout: TensorDict) -> TensorDict:
        """Advantages and the like for a rollout `[T, N]`, before learning from it.

        Raises:
            RuntimeError: If `log_prob` was not written down when acting, and the
                weights that acted are not those of now.
        """
        if "log_prob" not in set(rollout.keys()):
            self._check_policy()
        config = self.algorithm.config
        if config.anneal_learning_rate:
            before = self.sample_step - rollout.numel()
            self.algorithm.anneal(before / config.total_steps)
        return self.algorithm.prepare(rollout.to(self.device))

    def update_normalization(self, rollout: TensorDict) -> None:
        """Move running statistics of the model, once a rollout has been prepared."""
        self.acted_since = None
        self.policy_version += 1
        self.algorithm.update_normalization(rollout.to(self.device))

    def state_dict(self) -> dict[str, Any]:
        """What every agent has, and since when it acts with the weights of now."""
        return {**super().state_dict(), "acted_since": self.acted_since}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.acted_since = state["acted_since"]

    def _check_policy(self) -> None:
        """Refuse to compute the `log_prob` of other weights than those that acted."""
        if self.acted_since == self.policy_version:
            return
        acted = f"policy version {self.acted_since} has acted in it"
        raise RuntimeError(
            "the rollout holds no log_prob, and"
            f" {'another agent' if self.acted_since is None else acted}, where the"
            f" weights are version {self.policy_version}: what they say of its actions"
            " would be wrong. Set records_policy = True of the agent that acts, before"
            " it does"
        )
