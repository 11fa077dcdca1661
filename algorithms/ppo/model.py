"""The actor-critic network of PPO."""

from __future__ import annotations

from typing import Any

import gymnasium
import torch
from gymnasium.spaces import Box
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl.abstractions import Logs, Policy
from yieldrl.foundations import spaces
from yieldrl.networks import (
    MLP,
    Distribution,
    ObservationNormalizer,
    action_size,
    frozen_parts,
    make_distribution,
    make_encoder,
)

from .config import Config


class Model(Policy):
    """An actor and a critic side by side, behind one encoder of observations.

    Vectors reach both heads as they are, so the two share nothing; an image's CNN is
    shared. A critic that reads other entries of a Dict than the actor has an encoder of
    its own (Pinto et al. 2018, "Asymmetric Actor Critic", arXiv:1710.06542).
    Orthogonal initialisation: a policy that starts out almost uniform learns faster
    (Andrychowicz et al. 2021, arXiv:2006.05990, section 3.2).

    Args:
        observation_space: Box, Discrete, MultiDiscrete, MultiBinary or Dict of them.
        action_space: Discrete, MultiDiscrete, MultiBinary (categorical) or Box
            (Gaussian with a state-independent standard deviation).
        config: Says the hidden layers, the normalization and who reads what.

    Raises:
        ValueError: If the observations lack an entry that is to be read.

    Attributes:
        critic_encoder: The critic's own encoder; None where both read alike.
        shares_layers: Whether both go through layers that are learned, as a CNN's are.
    """

    def __init__(
        self,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        config: Config,
    ) -> None:
        super().__init__(observation_space, action_space)
        chosen = not isinstance(action_space, Box)
        self.choice_counts = spaces.choices(action_space) if chosen else None
        self.actor_obs = config.actor_obs
        self.critic_obs = config.critic_obs
        actor_space = self.group(config, "actor_obs")
        critic_space = self.group(config, "critic_obs")
        self.normalizer = (
            ObservationNormalizer(observation_space)
            if config.normalize_observation
            else None
        )
        self.encoder = make_encoder(actor_space)
        alike = critic_space == actor_space
        self.critic_encoder = None if alike else make_encoder(critic_space)
        learned = next(self.encoder.parameters(), None) is not None
        self.shares_layers = alike and learned
        outputs, hidden = action_size(action_space), config.hidden_sizes
        actor_sizes = [self.actor_size(config), *hidden, outputs]
        self.actor = MLP(actor_sizes, config.activation, last_gain=0.01)
        critic_sizes = [self.critic_size(config), *hidden, 1]
        self.critic = MLP(critic_sizes, config.activation, last_gain=1.0)
        self.log_std = (
            nn.Parameter(torch.full((outputs,), config.log_std_init))
            if isinstance(action_space, Box)
            else None
        )

    @property
    def needed_obs(self) -> tuple[str, ...]:
        """What the actor reads."""
        return self.actor_obs

    def group(self, config: Config, field: str) -> gymnasium.Space[Any]:
        """The space of the entries of observations that a field of the config names.

        Raises:
            ValueError: If the observations do not have them.
        """
        try:
            return spaces.part(self.observation_space, getattr(config, field))
        except ValueError as reason:
            raise config.error(field, str(reason)) from None

    def feature_size(self, config: Config) -> int:
        """Width `F` of the actor's features of observations."""
        return self.encoder.size

    def actor_size(self, config: Config) -> int:
        """Width of what the actor reads, which `actor_output` makes of features."""
        return self.feature_size(config)

    def critic_size(self, config: Config) -> int:
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

    def action(self, obs: Any) -> Tensor:
        """Logits `[B, A]`, or a Gaussian's means `[B, D]`."""
        return self.actor_output(self.features(obs), obs)

    def actor_output(self, features: Tensor, obs: Any) -> Tensor:
        """Logits `[B, A]`, or means `[B, D]`, from the features of observations."""
        return self.actor(features)

    def critic_output(self, features: Tensor, obs: Any) -> Tensor:
        """`V(s)`, `[B]`, from the actor's features of observations."""
        return self.critic(self.critic_features(obs, features)).squeeze(-1)

    def value(self, obs: Any, action: Tensor | None = None) -> Tensor:
        """`V(s)`, `[B]`."""
        return self.critic_output(self.features(obs), obs)

    def distribution(self, output: Tensor) -> Distribution:
        """The distribution that the actor's output stands for."""
        counts = self.choice_counts
        return make_distribution(self.action_space, output, self.log_std, counts)

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

    def metrics(self) -> Logs:
        """The mean standard deviation of a Gaussian, as `policy_std`."""
        return {} if self.log_std is None else {"policy_std": self.log_std.exp().mean()}
