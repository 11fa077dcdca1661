"""Policies around an encoder of observations, as they are without a critic."""

from abc import abstractmethod
from typing import Any

import torch
from gymnasium import Space
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
from yieldrl.on_policy.config import ActorCriticConfig


class Actor(Policy):
    """A policy that is a distribution from features of observations; no values.

    A subclass makes an actor of `actor_size` inputs, and says by `actor_output` and
    `distribution` what it does. ValueError if the observations lack an entry to read.

    Attributes:
        normalizer: Of observations; None where they stay as they are.
        encoder: From observations to the actor's features.
        shares_layers: Whether the encoder has layers that are learned, as a CNN's are,
            and a critic, if there is one, goes through them too.
    """

    has_critic = False

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        config: ActorCriticConfig,
    ) -> None:
        super().__init__(observation_space, action_space)
        self.actor_obs = config.actor_obs
        actor_space = self.group(config, "actor_obs")
        normalized = config.normalize_observation
        self.normalizer = (
            ObservationNormalizer(observation_space) if normalized else None
        )
        self.encoder = make_encoder(actor_space)
        self.shares_layers = next(self.encoder.parameters(), None) is not None

    @property
    def needed_obs(self) -> tuple[str, ...]:
        """The observations that the actor reads."""
        return self.actor_obs

    def group(self, config: ActorCriticConfig, field: str) -> Space[Any]:
        """The space of the entries of observations that a field of the config names."""
        try:
            return spaces.part(self.observation_space, getattr(config, field))
        except ValueError as reason:
            raise config.error(field, str(reason)) from None

    def feature_size(self, config: ActorCriticConfig) -> int:
        """Width `F` of the actor's features of observations."""
        return self.encoder.size

    def actor_size(self, config: ActorCriticConfig) -> int:
        """Width of what the actor reads."""
        return self.feature_size(config)

    def observed(self, obs: Any, names: tuple[str, ...] = ()) -> Any:
        """Observations `[B, ...]`, or entries of them, normalized if they are to be."""
        seen = {name: obs[name] for name in names} if names else obs
        return seen if self.normalizer is None else self.normalizer(seen)

    def features(self, obs: Any) -> Tensor:
        """Observations `[B, ...]` as vectors `[B, F]`, of what the actor may see."""
        return self.encoder(self.observed(obs, self.actor_obs))

    @abstractmethod
    def actor_output(self, features: Tensor, obs: Any) -> Tensor:
        """Logits `[B, A]`, or means `[B, D]`, from the features of observations."""

    def critic_output(self, features: Tensor, obs: Any) -> Any:
        """`V(s)`, `[B]`, from the actor's features; None without a critic."""
        return None

    @abstractmethod
    def distribution(self, output: Tensor) -> Distribution:
        """The distribution that the actor's output stands for."""

    def action(self, obs: Any) -> Tensor:
        """Logits `[B, A]`, or a Gaussian's means `[B, D]`."""
        return self.actor_output(self.features(obs), obs)

    def forward(
        self, obs: Any, deterministic: bool = False
    ) -> tuple[Tensor, Tensor, Any]:
        features = self.features(obs)
        policy = self.distribution(self.actor_output(features, obs))
        action = policy.mode() if deterministic else policy.sample()
        return action, policy.log_prob(action), self.critic_output(features, obs)

    def evaluate_actions(self, obs: Any, action: Tensor) -> tuple[Tensor, Tensor, Any]:
        features = self.features(obs)
        policy = self.distribution(self.actor_output(features, obs))
        value = self.critic_output(features, obs)
        return policy.log_prob(action), policy.entropy(), value

    def sample(
        self, obs: Any, generator: torch.Generator, *, record: bool = False
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Act, `action [B, ...]`, with the actor alone where the critic is beside it.

        The rest takes a tenth of the time in one batch after the rollout, unless
        `record` asks for the `log_prob [B]` now. Where layers of the encoder are
        learned it is computed already, and `log_prob` and `value [B]` are kept.
        """
        features = self.features(obs)
        policy = self.distribution(self.actor_output(features, obs))
        action = policy.sample(generator)
        if not (record or self.shares_layers):
            return action, {}
        kept = {"log_prob": policy.log_prob(action)}
        value = self.critic_output(features, obs) if not record else None
        if value is not None:  # with `record`, the learner's critic computes it
            kept["value"] = value
        return action, kept

    def predict(self, obs: Any) -> Tensor:
        """Act with the actor alone: the most likely action `[B, ...]`."""
        return self.distribution(self.action(obs)).mode()

    def update_normalization(self, data: TensorDict) -> None:
        """Fold in observations, unless a frozen part reads them normalized."""
        normalizer, encoders = self.normalizer, self._encoders
        if normalizer is not None and not normalizer.feeds(self.frozen(), encoders):
            normalizer.update(data["obs"], data.get("valid", None))

    @property
    def _encoders(self) -> list[nn.Module]:
        """All encoders of observations."""
        return [self.encoder]

    def frozen(self) -> list[nn.Module]:
        """The largest parts of which no parameter requires gradients."""
        return frozen_parts(self)
