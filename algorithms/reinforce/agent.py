"""The agent of REINFORCE: explores by sampling from its policy."""

from typing import Any

from torch import Tensor

from yieldrl import abstractions


class Agent(abstractions.Agent):
    """Samples actions from the policy."""

    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """A random action `[B, ...]` of the policy; nothing else need be remembered."""
        return self.algorithm.model.policy(obs).sample(self.generator), {}
