"""PPO with its advantages written out."""

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms import ppo


class Algorithm(ppo.Algorithm):
    """PPO with its own advantages, without a look at `yieldrl.functional`."""

    def advantage(
        self, rollout: TensorDict, reward: Tensor, next_value: Tensor
    ) -> Tensor:
        """Advantages `[T, N]`; they do not reach from one episode into the next."""
        gamma, gae_lambda = self.config.gamma, self.config.gae_lambda
        goes_on = ~(rollout["terminated"] | rollout["truncated"])
        delta = reward + gamma * next_value - rollout["value"]
        advantage, following = torch.zeros_like(delta), torch.zeros_like(delta[0])
        for t in reversed(range(len(delta))):
            following = delta[t] + gamma * gae_lambda * goes_on[t] * following
            advantage[t] = following
        return advantage
