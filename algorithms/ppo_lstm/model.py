"""The recurrent actor-critic network."""

from typing import Any

import torch
from gymnasium import Space
from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms import ppo
from yieldrl.networks import LSTM, Distribution

from .config import Config


class Model(ppo.Model):
    """PPO's network with an LSTM between the encoder and the heads.

    It takes a mapping for observations: `obs [B, ...]`, `memory [B, M]` from before
    them, and bool `first [B]` where an episode begins and the memory counts as empty.
    """

    def __init__(
        self, observation_space: Space[Any], action_space: Space[Any], config: Config
    ) -> None:
        super().__init__(observation_space, action_space, config)
        self.lstm = LSTM(self.encoder.size, config.lstm_size)

    @property
    def memory_size(self) -> int:
        """Numbers that it remembers of an episode, `M`."""
        return self.lstm.memory_size

    def feature_size(self, config: Any) -> int:
        return config.lstm_size

    def critic_size(self, config: Any) -> int:
        own = self.critic_encoder
        return config.lstm_size + (0 if own is None else own.size)

    def features(self, obs: Any) -> Tensor:
        """The LSTM's output `[B, H]`; for sequences `[T, n]` it is `[T * n, H]`."""
        if obs["first"].ndim == 1:
            return self.step(obs)[0]
        seen = super().features(obs["obs"].flatten(0, 1)).unflatten(0, obs.batch_size)
        return self.lstm(seen, obs["memory"][0], obs["first"])[0].flatten(0, 1)

    def critic_features(self, obs: Any, features: Tensor) -> Tensor:
        """The LSTM's output `[B, H]`, beside what the critic alone reads, `[B, C]`."""
        if self.critic_encoder is None:
            return features
        now = obs["obs"] if obs["first"].ndim == 1 else obs["obs"].flatten(0, 1)
        return torch.cat([features, super().critic_features(now, features)], dim=-1)

    def inputs(self, data: TensorDict) -> TensorDict:
        """Observations, the memory before each, and where episodes begin."""
        return data.select("obs", "memory", "first")

    def next_inputs(self, data: TensorDict) -> TensorDict:
        """Last observations, and what was remembered of the episode that they end."""
        memory = self.step(data)[1]
        nowhere = torch.zeros_like(data["first"])
        inputs = {"obs": data["next_obs"], "memory": memory, "first": nowhere}
        return TensorDict(inputs, data.batch_size)

    def step(self, obs: Any) -> tuple[Tensor, Tensor]:
        """The LSTM's output `[B, H]`, and its memory `[B, M]` after it."""
        seen, first = super().features(obs["obs"])[None], obs["first"][None]
        output, memory = self.lstm(seen, obs["memory"], first)
        return output[0], memory

    def act(self, obs: Any) -> tuple[Distribution, Tensor]:
        """The policy `[B]` for what comes next, and the memory `[B, M]` after it."""
        features, memory = self.step(obs)
        return self.distribution(self.actor_output(features, obs)), memory
