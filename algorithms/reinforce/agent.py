"""The agent of REINFORCE: explores by sampling from its policy."""

from typing import Any

from tensordict import TensorDict
from torch import Tensor

from yieldrl import abstractions


class Agent(abstractions.Agent):
    """Samples actions; hands episodes to the algorithm."""

    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """A random action `[B, ...]` of the policy; nothing else need be remembered."""
        return self.algorithm.model.policy(obs).sample(self.generator), {}

    def prepare(self, episodes: TensorDict) -> TensorDict:
        """The steps of whole episodes `[B]` with what followed them."""
        return self.algorithm.prepare(episodes.to(self.device))
