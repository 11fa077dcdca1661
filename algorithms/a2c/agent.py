"""The agent of A2C: explores by sampling from its policy."""

from typing import Any

from torch import Tensor

from yieldrl.on_policy import SamplingAgent

from .algorithm import Algorithm


class Agent(SamplingAgent):
    """Samples actions from the policy."""

    algorithm: Algorithm

    def annotate(self, obs: Any, action: Tensor) -> dict[str, Tensor]:
        """`V(s)` `[B]`: where its own weights acted there is no need of `log_prob`."""
        return {"value": self.algorithm.values(obs)}
