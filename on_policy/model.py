"""Actor-critic networks around one encoder of observations."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import gymnasium
import torch
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl.abstractions import Policy
from yieldrl.foundations import spaces
from yieldrl.networks import (
    Distribution,
    ObservationNormalizer,
    frozen_parts,
    make_encoder,
)
from yieldrl.on_policy.network_config import ActorCriticConfig


class ActorCritic(Policy):
    """A policy that is a distribution, and values, from features of observations.

    A subclass makes an actor and a critic of `actor_size` and `critic_size` inputs, and
    says by `actor_output`, `critic_output` and `distribution` what they do. A critic
    that reads other entries of a Dict than the actor has an encoder of its own (Pinto
    et al. 2018, "Asymmetric Actor Critic", arXiv:1710.06542).

    Args:
        observation_space: Box, Discrete, MultiDiscrete, MultiBinary or Dict of them.
        action_space: Space of one action.
        config: Says who reads what, and whether observations are normalized.

    Raises:
        ValueError: If the observations lack an entry that is to be read.

    Attributes:
        normalizer: Of observations; None where they stay as they are.
        encoder: From observations to the actor's features.
        critic_encoder: The critic's own encoder; None where both read alike.
        shares_layers: Whether both go through layers that are learned, as a CNN's are.
    """

    def __init__(
        self,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        config: ActorCriticConfig,
    ) -> None:
        super().__init__(observation_space, action_space)
        self.actor_obs, self.critic_obs = config.actor_obs, config.critic_obs
        actor_space = self.group(config, "actor_obs")
        critic_space = self.group(config, "critic_obs")
        normalized = config.normalize_observation
        self.normalizer = (
            ObservationNormalizer(observation_space) if normalized else None
        )
        self.encoder = make_encoder(actor_space)
        alike = critic_space == actor_space
        self.critic_encoder = None if alike else make_encoder(critic_space)
        learned = next(self.encoder.parameters(), None) is not None
        self.shares_layers = alike and learned

    @property
    def needed_obs(self) -> tuple[str, ...]:
        """What the actor reads."""
        return self.actor_obs

    def group(self, config: ActorCriticConfig, field: str) -> gymnasium.Space[Any]:
        """The space of the entries of observations that a field of the config names.

        Raises:
            ValueError: If the observations do not have them.
        """
        try:
            return spaces.part(self.observation_space, getattr(config, field))
        except ValueError as reason:
            raise config.error(field, str(reason)) from None

    def feature_size(self, config: ActorCriticConfig) -> int:
        """Width `F` of the actor's features of observations."""
        return self.encoder.size

    def actor_size(self, config: ActorCriticConfig) -> int:
        """Width of what the actor reads, which `actor_output` makes of features."""
        return self.feature_size(config)

    def critic_size(self, config: ActorCriticConfig) -> int:
        """Width `C` of what the critic reads, its features of observations."""
        own = self.critic_encoder
        return self.feature_size(config) if own is None else own.size

    def observed(self, obs: Any, names: tuple[str, ...] = ()) -> Any:
        """Observations `[B, ...]` or entries of them, normalized if the config says so.

        Without names it is all of them.
        """
        seen = {name: obs[name] for name in names} if names else obs
        return seen if self.normalizer is None else self.normalizer(seen)

    def features(self, obs: Any) -> Tensor:
        """Observations `[B, ...]` as vectors `[B, F]`, of what the actor may see."""
        return self.encoder(self.observed(obs, self.actor_obs))

    def critic_features(self, obs: Any, features: Tensor) -> Tensor:
        """What the critic reads, `[B, C]`.

        Where both read the same entries it is the actor's features, which they share.
        A critic that sees more, or otherwise, makes its own from the observations.
        """
        if self.critic_encoder is None:
            return features
        return self.critic_encoder(self.observed(obs, self.critic_obs))

    @abstractmethod
    def actor_output(self, features: Tensor, obs: Any) -> Tensor:
        """Logits `[B, A]`, or means `[B, D]`, from the features of observations."""

    @abstractmethod
    def critic_output(self, features: Tensor, obs: Any) -> Tensor:
        """`V(s)`, `[B]`, from the actor's features of observations."""

    @abstractmethod
    def distribution(self, output: Tensor) -> Distribution:
        """The distribution that the actor's output stands for."""

    def action(self, obs: Any) -> Tensor:
        """Logits `[B, A]`, or a Gaussian's means `[B, D]`."""
        return self.actor_output(self.features(obs), obs)

    def value(self, obs: Any, action: Tensor | None = None) -> Tensor:
        """`V(s)`, `[B]`."""
        return self.critic_output(self.features(obs), obs)

    def forward(
        self, obs: Any, deterministic: bool = False
    ) -> tuple[Tensor, Tensor, Tensor]:
        features = self.features(obs)
        policy = self.distribution(self.actor_output(features, obs))
        action = policy.mode() if deterministic else policy.sample()
        return action, policy.log_prob(action), self.critic_output(features, obs)

    def evaluate_actions(
        self, obs: Any, action: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        features = self.features(obs)
        policy = self.distribution(self.actor_output(features, obs))
        value = self.critic_output(features, obs)
        return policy.log_prob(action), policy.entropy(), value

    def get_value(self, obs: Any) -> Tensor:
        return self.value(obs)

    def sample(
        self, obs: Any, generator: torch.Generator, *, record: bool = False
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Act, `action [B, ...]`, with the actor alone where the critic is beside it.

        Log-probabilities and values of the whole rollout take one batch after it, a
        tenth of the time that they would take step by step; `record` keeps the
        `log_prob [B]` all the same. Who acts through a CNN that the critic shares has
        seen already what takes the time, and keeps `value [B]`, too.
        """
        features = self.features(obs)
        policy = self.distribution(self.actor_output(features, obs))
        action = policy.sample(generator)
        if not (record or self.shares_layers):
            return action, {}
        kept = {"log_prob": policy.log_prob(action)}
        if not record:  # else the critic that learns from it may be a later one
            kept["value"] = self.critic_output(features, obs)
        return action, kept

    def predict(self, obs: Any) -> Tensor:
        """Act with the actor alone: the most likely action `[B, ...]`."""
        return self.distribution(self.action(obs)).mode()

    def update_normalization(self, data: TensorDict) -> None:
        """Fold observations into running statistics, if there are any.

        They stand still where a frozen part reads by them: it goes on to see as it saw.
        """
        encoders = [
            own for own in (self.encoder, self.critic_encoder) if own is not None
        ]
        normalizer = self.normalizer
        if normalizer is not None and not normalizer.feeds(self.frozen(), encoders):
            normalizer.update(data["obs"], data.get("valid", None))

    def frozen(self) -> list[nn.Module]:
        """The largest parts of which no parameter requires gradients."""
        return frozen_parts(self)
