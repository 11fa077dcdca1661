"""The agent of Dreamer: it keeps the memory of the episodes that it is in."""

from typing import Any

import torch
from torch import Tensor

from yieldrl.algorithms.remembering import RememberingAgent


class Agent(RememberingAgent):
    """Samples from the policy, in a state drawn from what it sees and remembers."""

    def act(self, inputs: Any, generator: torch.Generator) -> dict[str, Any]:
        model = self.algorithm.model
        state = model.state(inputs, generator)
        action = model.policy(state).sample(generator)
        return {"action": action, "remembered": model.world.remember(state, action)}

    def act_best(self, inputs: Any) -> tuple[Tensor, Tensor]:
        model = self.algorithm.model
        state = model.state(inputs)
        action = model.policy(state).mode()
        return action, model.world.remember(state, action)
