"""The agent of behaviour cloning: acts as its policy, and learns as the expert did."""

from typing import Any

import torch
from gymnasium.spaces import Box
from tensordict import TensorDict
from torch import Tensor

from yieldrl import abstractions
from yieldrl.abstractions import Logs
from yieldrl.algorithms.tokens import executed_mask
from yieldrl.core import mean_of_all


class Agent(abstractions.Agent):
    """Samples actions of its policy; the expert's become what the policy would say."""

    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """A random action `[B, ...]` of the policy, and what it says of it."""
        return self.algorithm.model.sample(obs, self.generator)

    def learn(self, data: TensorDict) -> Logs:
        """One gradient step on a minibatch `[B]` of the environment's actions."""
        return super().learn(self.in_its_words(data))

    def in_its_words(self, data: TensorDict) -> TensorDict:
        """A minibatch with the policy's actions for those of the environment."""
        data = data.to(self.device)
        return data.copy().set("action", self.border.actions.from_env(data["action"]))

    @torch.inference_mode()
    def accuracy(self, data: TensorDict) -> Logs:
        """Share of choices `[B, ...]`, without those after an episode's end, that the
        policy would make as the expert did; empty where actions are numbers."""
        if isinstance(self.model.action_space, Box):
            return {}
        action = self.border.actions.to_env(self.algorithm.predict(data["obs"]))
        right = (action == data["action"]).float()
        return {"accuracy": mean_of_all(right[executed_mask(right, data)])}
