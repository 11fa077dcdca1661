"""The agent of behaviour cloning: acts as its policy, and learns as the expert did."""

import torch
from gymnasium.spaces import Box
from tensordict import TensorDict

from yieldrl.abstractions import Logs
from yieldrl.algorithms import ppo
from yieldrl.algorithms.tokens import executed_mask
from yieldrl.core import mean_of_all


class Agent(ppo.Agent):
    """Samples actions of its policy; the expert's become what the policy would say."""

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
        counted = executed_mask(right, data).float()
        shares = (mean_of_all(x.flatten()) for x in (right * counted, counted))
        return {"accuracy": next(shares) / next(shares)}
