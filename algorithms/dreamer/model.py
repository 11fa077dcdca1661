"""The networks of Dreamer: a world model, and an actor and a critic of its states."""

from typing import Any

import torch
from gymnasium import Space
from gymnasium.spaces import Box
from torch import Tensor, nn

from yieldrl import abstractions
from yieldrl.core import spaces
from yieldrl.imagination import LatentModel, TwoHot
from yieldrl.networks import MLP, Distribution, action_size, make_distribution

from .config import Config


class Model(abstractions.Model):
    """A latent world model; actor and critic go by its states `[B, S]`.

    It takes a mapping for observations: `obs [B, ...]`, `memory [B, M]` from before
    them, and bool `first [B]` where an episode begins and the memory counts as empty.
    """

    def __init__(
        self, observation_space: Space[Any], action_space: Space[Any], config: Config
    ) -> None:
        super().__init__(observation_space, action_space)
        self.memory_size, hidden = config.memory_size, config.hidden_sizes
        both = observation_space, action_space
        self.world = LatentModel(*both, config, hidden)
        outputs, is_box = action_size(action_space), isinstance(action_space, Box)
        self.choice_counts = None if is_box else spaces.choices(action_space)
        self.actor = MLP([self.world.size, *hidden, outputs], "relu", last_gain=0.01)
        self.log_std = nn.Parameter(torch.zeros(outputs)) if is_box else None
        self.returns = TwoHot()
        bins = len(self.returns.bins)
        self.critic = MLP([self.world.size, *hidden, bins], "relu", last_gain=0.0)

    def state(self, obs: Any, generator: torch.Generator | None = None) -> Tensor:
        """The state `[B, S]` in which observations put the world."""
        memory = obs["memory"] * ~obs["first"].unsqueeze(-1)
        return self.world.see(memory, self.world.features(obs["obs"]), generator)[0]

    def policy(self, state: Tensor) -> Distribution:
        """Over actions in states `[B, S]`."""
        output, counts = self.actor(state), self.choice_counts
        return make_distribution(self.action_space, output, self.log_std, counts)

    def action(self, obs: Any) -> Tensor:
        """Logits `[B, A]`, or a Gaussian's means `[B, D]`."""
        return self.actor(self.state(obs))

    def value(self, obs: Any, action: Tensor | None = None) -> Tensor:
        """The critic's mean, `[B]`."""
        return self.returns.mean(self.critic(self.state(obs)))
