"""The agent of GRPO: explores by sampling from its policy."""

from typing import Any

from torch import Tensor

from yieldrl.on_policy import SamplingAgent

from .algorithm import Algorithm


class Agent(SamplingAgent):
    """Samples actions from the policy, which is the same for a whole rollout."""

    algorithm: Algorithm

    one_policy = True

    def annotate(self, obs: Any, action: Tensor) -> dict[str, Tensor]:
        """The `log_prob` of actions `[B, ...]`: `[B]`, or in parts `[B, L, ...]`."""
        return {"log_prob": self.algorithm.model.evaluate_actions(obs, action)[0]}
