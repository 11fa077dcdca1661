"""The agent of recurrent PPO: it remembers the episodes that it is in."""

from typing import Any

import torch
from torch import Tensor

from yieldrl.algorithms import ppo
from yieldrl.on_policy import RememberingAgent

from .algorithm import Algorithm


class Agent(RememberingAgent, ppo.Agent):
    """PPO's, with a memory."""

    algorithm: Algorithm

    def act(self, inputs: Any, generator: torch.Generator) -> dict[str, Any]:
        policy, remembered = self.algorithm.model.act(inputs)
        action = policy.sample(generator)
        chosen = {"action": action, "remembered": remembered}
        if self.records_log_prob:
            chosen["log_prob"] = policy.log_prob(action)
        return chosen

    def act_best(self, inputs: Any) -> tuple[Tensor, Tensor]:
        policy, remembered = self.algorithm.model.act(inputs)
        return policy.mode(), remembered
