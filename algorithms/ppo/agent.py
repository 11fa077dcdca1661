"""The agent of PPO: explores by sampling from its policy."""

from typing import Any

from torch import Tensor

from yieldrl import abstractions
from yieldrl.core import in_precision


class Agent(abstractions.Agent):
    """Samples actions from the policy."""

    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """A random `action [B, ...]` of the policy, and what the buffer keeps of it."""
        sample = in_precision(self.config.precision, self.device, self.model.sample)
        return sample(obs, self.generator, record=self.records_log_prob)
