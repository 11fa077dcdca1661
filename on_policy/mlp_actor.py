"""The usual policy without a critic: an MLP behind an encoder of observations."""

from typing import Any

import torch
from gymnasium import Space
from gymnasium.spaces import Box
from torch import Tensor, nn

from yieldrl.abstractions import Logs
from yieldrl.foundations import spaces
from yieldrl.networks import MLP, Distribution, action_size, make_distribution
from yieldrl.on_policy.actor import Actor
from yieldrl.on_policy.config import ActorCriticConfig


class MLPActor(Actor):
    """A policy `pi(a | s)`, and nothing else: there is no critic.

    A Box has a Gaussian policy with a state-independent standard deviation, every other
    action space a categorical one for each choice.
    """

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        config: ActorCriticConfig,
    ) -> None:
        super().__init__(observation_space, action_space, config)
        outputs, is_box = action_size(action_space), isinstance(action_space, Box)
        self.choice_counts = None if is_box else spaces.choices(action_space)
        sizes = [self.actor_size(config), *config.hidden_sizes, outputs]
        self.actor = MLP(sizes, config.activation, last_gain=0.01)
        log_std = torch.full((outputs,), config.log_std_init)
        self.log_std = nn.Parameter(log_std) if is_box else None

    def actor_output(self, features: Tensor, obs: Any) -> Tensor:
        return self.actor(features)

    def distribution(self, output: Tensor) -> Distribution:
        space, log_std, counts = self.action_space, self.log_std, self.choice_counts
        return make_distribution(space, output, log_std, counts)

    def metrics(self) -> Logs:
        """The mean standard deviation of a Gaussian, as `policy_std`."""
        own = self.log_std
        return {} if own is None else {"policy_std": own.exp().mean()}
