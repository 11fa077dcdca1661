"""The agent of PPO: explores by sampling from its policy."""

from typing import Any

from torch import Tensor

from yieldrl.on_policy import SamplingAgent

from .algorithm import Algorithm


class Agent(SamplingAgent):
    """Samples actions from the policy."""

    algorithm: Algorithm

    def annotate(self, obs: Any, action: Tensor) -> dict[str, Tensor]:
        """The `log_prob` of actions `[B, ...]` and, with a critic, the `value [B]`."""
        log_prob, _, value = self.algorithm.model.evaluate_actions(obs, action)
        return {"log_prob": log_prob} | ({} if value is None else {"value": value})
