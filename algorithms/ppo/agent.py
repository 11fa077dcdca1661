"""The agent of PPO: explores by sampling from its policy."""

from typing import Any, ClassVar

from torch import Tensor

from yieldrl import abstractions
from yieldrl.core import in_precision


class Agent(abstractions.Agent):
    """Samples actions from the policy."""

    recordable: ClassVar[bool] = True  # `explore` has no numbers that change

    def __init__(self, algorithm: Any, config: Any) -> None:
        super().__init__(algorithm, config)
        rounded = config.precision, self.device
        self._sample = in_precision(*rounded, self.model.sample)

    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """A random `action [B, ...]` of the policy, and what the buffer keeps of it."""
        return self._sample(obs, self.generator, record=self.records_log_prob)
