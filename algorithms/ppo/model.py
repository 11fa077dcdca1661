"""The actor-critic network of PPO."""

from __future__ import annotations

from typing import Any

import gymnasium
import torch
from gymnasium.spaces import Box
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl.abstractions import Logs, Policy
from yieldrl.networks import (
    MLP,
    Distribution,
    ObservationNormalizer,
    action_size,
    make_distribution,
    make_encoder,
)

from .config import Config


class Model(Policy):
    """An actor and a critic side by side, behind one encoder of observations.

    Vectors reach both heads as they are, so the two share nothing; an image's CNN is
    shared. Orthogonal initialisation: a policy that starts out almost uniform learns
    faster (Andrychowicz et al. 2021, arXiv:2006.05990, section 3.2).

    Args:
        observation_space: Box, Discrete, MultiDiscrete, MultiBinary or Dict of them.
        action_space: Discrete, MultiDiscrete, MultiBinary (categorical) or Box
            (Gaussian with a state-independent standard deviation).
        config: Says the hidden layers and the normalization.
    """

    def __init__(
        self,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        config: Config,
    ) -> None:
        super().__init__(observation_space, action_space)
        self.normalizer = (
            ObservationNormalizer(observation_space)
            if config.normalize_observation
            else None
        )
        self.encoder = make_encoder(observation_space)
        sizes = [self.feature_size(config), *config.hidden_sizes]
        outputs = action_size(action_space)
        self.actor = MLP([*sizes, outputs], config.activation, last_gain=0.01)
        self.critic = MLP([*sizes, 1], config.activation, last_gain=1.0)
        self.log_std = (
            nn.Parameter(torch.full((outputs,), config.log_std_init))
            if isinstance(action_space, Box)
            else None
        )

    def feature_size(self, config: Config) -> int:
        """Width `F` of what the heads read."""
        return self.encoder.size

    def features(self, obs: Any) -> Tensor:
        """Observations `[B, ...]` as the vectors `[B, F]` that the actor reads."""
        if self.normalizer is not None:
            obs = self.normalizer(obs)
        return self.encoder(obs)

    def critic_features(self, obs: Any, features: Tensor) -> Tensor:
        """What the critic reads, `[B, F]`: what the actor does, so that both share it.

        A critic that sees more, or otherwise, makes its own from the observations.
        """
        return features

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
        return make_distribution(self.action_space, output, self.log_std)

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
        """Act with the actor alone, `action [B, ...]`.

        Log-probabilities and values of the whole rollout take one batch after it, a
        tenth of the time that they would take step by step; `record` keeps the
        `log_prob [B]` all the same.
        """
        policy = self.distribution(self.action(obs))
        action = policy.sample(generator)
        return action, {"log_prob": policy.log_prob(action)} if record else {}

    def update_normalization(self, data: TensorDict) -> None:
        if self.normalizer is not None:
            self.normalizer.update(data["obs"], data.get("valid", None))

    def metrics(self) -> Logs:
        """The mean standard deviation of a Gaussian, as `policy_std`."""
        return {} if self.log_std is None else {"policy_std": self.log_std.exp().mean()}
