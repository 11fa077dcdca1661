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
    """Samples actions; hands rollouts to the algorithm and sets its learning rate.

    Attributes:
        records_policy: Whether `log_prob` is written down when acting. It must be
            where the weights may change before the rollout is learned from, as they do
            beside a collector in the background. Otherwise one batch over the whole
            rollout computes it, in a tenth of the time.
    """

    algorithm: Algorithm

    def __init__(self, algorithm: Algorithm, config: Config) -> None:
        super().__init__(algorithm, config)
        self.records_policy = False
        self._versions: tuple[tuple[int, int], Any] = ((-1, 0), None)

    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Any]]:
        """A random action `[B, ...]` of the policy, and what the buffer keeps of it."""
        model, record = self.algorithm.model, self.records_policy
        action, extras = model.sample(obs, self.generator, record=record)
        return action, {**extras, "policy_version": self.versions(len(action))}

    def versions(self, count: int) -> Any:
        """`policy_version` of so many actions, int64 `[N]`; filled when it changes."""
        wanted = (self.policy_version, count)
        if self._versions[0] != wanted:
            row = torch.full((count,), self.policy_version, device=self.device)
            # An array is written into the buffer in a fifth of the time.
            self._versions = wanted, row.numpy() if row.is_cpu else row
        return self._versions[1]

    def prepare(self, rollout: TensorDict) -> TensorDict:
        """Advantages and the like for a rollout `[T, N]`, before learning from it.

        Raises:
            RuntimeError: If `log_prob` was not written down when acting, and the
                weights that acted are not those of now.
        """
        self._check_policy(rollout)
        config = self.algorithm.config
        if config.anneal_learning_rate:
            before = self.sample_step - rollout.numel()
            self.algorithm.anneal(before / config.total_steps)
        return self.algorithm.prepare(rollout.to(self.device))

    def update_normalization(self, rollout: TensorDict) -> None:
        """Move running statistics of the model, once a rollout has been prepared."""
        self.policy_version += 1
        self.algorithm.update_normalization(rollout.to(self.device))

    def _check_policy(self, rollout: TensorDict) -> None:
        """Refuse to compute the `log_prob` of other weights than those that acted."""
        keys = set(rollout.keys())
        if "log_prob" in keys:
            return
        if "policy_version" not in keys:
            raise RuntimeError(
                "the rollout holds neither log_prob nor policy_version, so nobody knows"
                " which weights acted: write down what agent.sample returns beside the"
                " action"
            )
        acted = rollout["policy_version"]
        if bool((acted != self.policy_version).any()):
            raise RuntimeError(
                f"the rollout was collected by policy versions {int(acted.min())} to"
                f" {int(acted.max())}, the weights are version {self.policy_version}:"
                " their log_prob would be wrong. Set agent.records_policy = True before"
                " collecting"
            )
