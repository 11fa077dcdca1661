"""The networks of PPO: an actor and a critic behind an encoder of observations."""

from typing import Any

import torch
from gymnasium import Space
from gymnasium.spaces import Box
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl.abstractions import Logs, Policy
from yieldrl.core import spaces
from yieldrl.networks import (
    MLP,
    Distribution,
    ObservationNormalizer,
    action_size,
    frozen_parts,
    make_distribution,
    make_encoder,
)


class Model(Policy):
    """An actor and a critic side by side, behind one encoder of observations.

    Vectors reach both as they are, so the two share nothing; an image's CNN is shared.
    Orthogonal initialisation: a policy that starts out almost uniform learns faster
    (Andrychowicz et al. 2021, arXiv:2006.05990, section 3.2). A critic that reads other
    entries of a Dict than the actor has an encoder of its own (Pinto et al. 2018,
    "Asymmetric Actor Critic", arXiv:1710.06542).

    A Box has a Gaussian policy with a state-independent standard deviation, every other
    action space a categorical one for each choice. ValueError if the observations lack
    an entry that is to be read.

    Attributes:
        normalizer: Of observations; None where they stay as they are.
        encoder: From observations to the actor's features, `[B, F]`.
        critic_encoder: None where both read the same entries.
        shares_layers: Whether both go through layers that are learned, as a CNN's.
    """

    def __init__(
        self, observation_space: Space[Any], action_space: Space[Any], config: Any
    ) -> None:
        super().__init__(observation_space, action_space)
        self.actor_obs, self.critic_obs = config.actor_obs, config.critic_obs
        actor_space = self._part(config, "actor_obs")
        self.exact_obs = config.normalize_observation
        self.normalizer = (
            ObservationNormalizer(observation_space) if self.exact_obs else None
        )
        self.encoder = make_encoder(actor_space)
        self.critic_encoder = None
        if self.has_critic:
            critic_space = self._part(config, "critic_obs")
            if critic_space != actor_space:
                self.critic_encoder = make_encoder(critic_space)
        outputs, is_box = action_size(action_space), isinstance(action_space, Box)
        self.choice_counts = None if is_box else spaces.choices(action_space)
        hidden, activation = config.hidden_sizes, config.activation
        actor_sizes = [self.actor_size(config), *hidden, outputs]
        self.actor = MLP(actor_sizes, activation, last_gain=0.01)
        if self.has_critic:
            critic_sizes = [self.critic_size(config), *hidden, 1]
            self.critic = MLP(critic_sizes, activation, last_gain=1.0)
        log_std = torch.full((outputs,), config.log_std_init)
        self.log_std = nn.Parameter(log_std) if is_box else None
        learned = next(self.encoder.parameters(), None) is not None
        self.shares_layers = learned and self.critic_encoder is None

    def _part(self, config: Any, field: str) -> Space[Any]:
        try:
            return spaces.part(self.observation_space, getattr(config, field))
        except ValueError as reason:
            raise config.error(field, str(reason)) from None

    def feature_size(self, config: Any) -> int:
        """Width `F` of the actor's features of observations."""
        return self.encoder.size

    def actor_size(self, config: Any) -> int:
        """Width of what the actor reads."""
        return self.feature_size(config)

    def critic_size(self, config: Any) -> int:
        """Width `C` of what the critic reads."""
        encoder = self.critic_encoder
        return self.feature_size(config) if encoder is None else encoder.size

    @property
    def needed_obs(self) -> tuple[str, ...]:
        """The observations that the actor reads."""
        return self.actor_obs

    def observed(self, obs: Any, names: tuple[str, ...] = ()) -> Any:
        """Observations `[B, ...]`, or entries of them, normalized if they are to be."""
        seen = {name: obs[name] for name in names} if names else obs
        return seen if self.normalizer is None else self.normalizer(seen)

    def features(self, obs: Any) -> Tensor:
        """Observations `[B, ...]` as vectors `[B, F]`, of what the actor may see."""
        return self.encoder(self.observed(obs, self.actor_obs))

    def critic_features(self, obs: Any, features: Tensor) -> Tensor:
        """The critic's input, `[B, C]`: the actor's features, or its own."""
        if self.critic_encoder is None:
            return features
        return self.critic_encoder(self.observed(obs, self.critic_obs))

    def actor_output(self, features: Tensor, obs: Any) -> Tensor:
        """Logits `[B, A]`, or means `[B, D]`, from the features of observations."""
        return self.actor(features)

    def critic_output(self, features: Tensor, obs: Any) -> Any:
        """`V(s)`, `[B]`, from the actor's features; None without a critic."""
        if not self.has_critic:
            return None
        return self.critic(self.critic_features(obs, features)).squeeze(-1)

    def distribution(self, output: Tensor) -> Distribution:
        """The distribution that the actor's output stands for."""
        space, counts = self.action_space, self.choice_counts
        return make_distribution(space, output, self.log_std, counts)

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

    def value(self, obs: Any, action: Tensor | None = None) -> Tensor:
        """`V(s)`, `[B]`."""
        return self.critic_output(self.features(obs), obs)

    def get_value(self, obs: Any) -> Tensor:
        return self.value(obs)

    def predict(self, obs: Any) -> Tensor:
        """Act with the actor alone: the most likely action `[B, ...]`."""
        return self.distribution(self.action(obs)).mode()

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

    def update_normalization(self, data: TensorDict) -> None:
        """Fold in observations, unless a frozen part reads them normalized."""
        encoders = [x for x in (self.encoder, self.critic_encoder) if x is not None]
        normalizer, frozen = self.normalizer, frozen_parts(self)
        if normalizer is not None and not normalizer.feeds(frozen, encoders):
            normalizer.update(data["obs"], data.get("valid", None))

    def metrics(self) -> Logs:
        """The mean standard deviation of a Gaussian, as `policy_std`."""
        log_std = self.log_std
        return {} if log_std is None else {"policy_std": log_std.exp().mean()}


class Actor(Model):
    """PPO's policy, and nothing else: there is no critic."""

    has_critic = False
