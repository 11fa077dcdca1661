"""The actor-critic network of PPO."""

from typing import Any

import torch
from gymnasium import Space
from gymnasium.spaces import Box
from torch import Tensor, nn

from yieldrl.abstractions import Logs
from yieldrl.foundations import spaces
from yieldrl.networks import MLP, Distribution, action_size, make_distribution
from yieldrl.on_policy import ActorCritic, ActorCriticConfig


class Model(ActorCritic):
    """An actor and a critic side by side, behind one encoder of observations.

    Vectors reach both as they are, so the two share nothing; an image's CNN is shared.
    Orthogonal initialisation: a policy that starts out almost uniform learns faster
    (Andrychowicz et al. 2021, arXiv:2006.05990, section 3.2).

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
        hidden, activation = config.hidden_sizes, config.activation
        actor_sizes = [self.actor_size(config), *hidden, outputs]
        self.actor = MLP(actor_sizes, activation, last_gain=0.01)
        critic_sizes = [self.critic_size(config), *hidden, 1]
        self.critic = MLP(critic_sizes, activation, last_gain=1.0)
        log_std = torch.full((outputs,), config.log_std_init)
        self.log_std = nn.Parameter(log_std) if is_box else None

    def actor_output(self, features: Tensor, obs: Any) -> Tensor:
        return self.actor(features)

    def critic_output(self, features: Tensor, obs: Any) -> Tensor:
        return self.critic(self.critic_features(obs, features)).squeeze(-1)

    def distribution(self, output: Tensor) -> Distribution:
        log_std, counts = self.acting_log_std, self.choice_counts
        return make_distribution(self.action_space, output, log_std, counts)

    @property
    def acting_log_std(self) -> nn.Parameter | None:
        """Of a Gaussian policy, `[D]`: of the actor that acts, if there are several."""
        return self.log_std

    def metrics(self) -> Logs:
        """The mean standard deviation of a Gaussian, as `policy_std`."""
        log_std = self.acting_log_std
        return {} if log_std is None else {"policy_std": log_std.exp().mean()}
