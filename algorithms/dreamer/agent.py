"""The agent of Dreamer: it keeps the memory of the episodes that it is in."""

from typing import Any

import torch

from yieldrl.algorithms.remembering import RememberingAgent


class Agent(RememberingAgent):
    """Samples from the policy, in a state drawn from what it sees and remembers."""

    def act(self, inputs: Any, generator: torch.Generator | None) -> dict[str, Any]:
        model = self.algorithm.model
        state = model.state(inputs, generator)
        policy = model.policy(state)
        action = policy.mode() if generator is None else policy.sample(generator)
        return {"action": action, "remembered": model.world.remember(state, action)}
