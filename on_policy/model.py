"""Actor-critic networks around one encoder of observations."""

from abc import abstractmethod
from typing import Any

from gymnasium import Space
from torch import Tensor, nn

from yieldrl.networks import make_encoder
from yieldrl.on_policy.actor import Actor
from yieldrl.on_policy.config import ActorCriticConfig


class ActorCritic(Actor):
    """A policy that is a distribution, and values, from features of observations.

    A subclass makes an actor and a critic of `actor_size` and `critic_size` inputs, and
    says by `actor_output`, `critic_output` and `distribution` what they do. A critic
    that reads other entries of a Dict than the actor has an encoder of its own (Pinto
    et al. 2018, "Asymmetric Actor Critic", arXiv:1710.06542). ValueError if the
    observations lack an entry that is to be read.

    Attributes:
        critic_encoder: None where both read the same entries.
    """

    has_critic = True

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        config: ActorCriticConfig,
    ) -> None:
        super().__init__(observation_space, action_space, config)
        self.critic_obs = config.critic_obs
        critic_space = self.group(config, "critic_obs")
        alike = critic_space == self.group(config, "actor_obs")
        self.critic_encoder = None if alike else make_encoder(critic_space)
        self.shares_layers = alike and self.shares_layers

    def critic_size(self, config: ActorCriticConfig) -> int:
        """Width `C` of what the critic reads."""
        own = self.critic_encoder
        return self.feature_size(config) if own is None else own.size

    def critic_features(self, obs: Any, features: Tensor) -> Tensor:
        """The critic's input, `[B, C]`: the actor's features, or its own."""
        if self.critic_encoder is None:
            return features
        return self.critic_encoder(self.observed(obs, self.critic_obs))

    @abstractmethod
    def critic_output(self, features: Tensor, obs: Any) -> Tensor:
        """`V(s)`, `[B]`, from the actor's features of observations."""

    def value(self, obs: Any, action: Tensor | None = None) -> Tensor:
        """`V(s)`, `[B]`."""
        return self.critic_output(self.features(obs), obs)

    def get_value(self, obs: Any) -> Tensor:
        return self.value(obs)

    @property
    def _encoders(self) -> list[nn.Module]:
        own = self.critic_encoder
        return [self.encoder] if own is None else [self.encoder, own]
