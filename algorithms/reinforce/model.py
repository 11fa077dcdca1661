"""The policy network of REINFORCE."""

from typing import Any

import torch
from gymnasium import Space
from gymnasium.spaces import Box
from torch import Tensor, nn

from yieldrl import abstractions
from yieldrl.networks import (
    MLP,
    Distribution,
    action_size,
    make_distribution,
    make_encoder,
)

from .config import Config


class Model(abstractions.Model):
    """A policy `pi(a | s)`, and nothing else: there is no critic.

    A Box has a Gaussian policy with a state-independent standard deviation, every other
    action space a categorical one for each choice.
    """

    def __init__(
        self, observation_space: Space[Any], action_space: Space[Any], config: Config
    ) -> None:
        super().__init__(observation_space, action_space)
        self.encoder = make_encoder(observation_space)
        outputs = action_size(action_space)
        sizes = [self.encoder.size, *config.hidden_sizes, outputs]
        self.actor = MLP(sizes, "tanh", last_gain=0.01)
        log_std = nn.Parameter(torch.zeros(outputs))
        self.log_std = log_std if isinstance(action_space, Box) else None

    def action(self, obs: Any) -> Tensor:
        """Logits `[B, A]`, or a Gaussian's means `[B, D]`."""
        return self.actor(self.encoder(obs))

    def policy(self, obs: Any) -> Distribution:
        """The distribution over actions, for observations `[B, ...]`."""
        return make_distribution(self.action_space, self.action(obs), self.log_std)
