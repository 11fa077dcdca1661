"""The agent of Rainbow: explores by the noise that its network has learned."""

from typing import Any

from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import dqn
from yieldrl.networks import noise, noisy_layers

from .algorithm import Algorithm


class Agent(dqn.Agent):
    """Greedy under noise, which is drawn anew for every step and every update.

    Fortunato et al. 2018, "Noisy Networks for Exploration", arXiv:1706.10295. Outside
    of both there is no noise: `predict` acts by the mean weights.
    """

    algorithm: Algorithm

    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """Actions `[N]`, all under the same noise."""
        with noise(noisy_layers(self.model), self.generator):
            return super().explore(obs)

    def learn(self, data: TensorDict) -> Logs:
        """One gradient step; the network and its target have noise of their own."""
        target = self.algorithm.target_model
        with noise(noisy_layers(self.model) + noisy_layers(target), self.generator):
            return super().learn(data)
