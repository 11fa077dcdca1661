"""Models that make a whole chunk of numbers: the mean of a Gaussian."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import gymnasium
import torch
from gymnasium.spaces import Box, Dict
from torch import Tensor, nn

from yieldrl.vla.actions import action_layout, bounds
from yieldrl.vla.config import VLAConfig
from yieldrl.vla.heads import TokenGaussian
from yieldrl.vla.interface import OnePassModule, VLAOutput
from yieldrl.vla.statistics import ActionStatistics, proprio_statistics


class Look(NamedTuple):
    """What one pass of a network makes of observations, float32."""

    mean: Tensor  # chunks of normalised actions, [B, L, D]
    value: Tensor  # of the states, [B]


class ChunkVLA(OnePassModule, ABC):
    """A Gaussian around the chunk that a network makes; it follows `OnePassVLA`.

    Its `log_std [D]`, of normalised actions, is learned and the same in every state.
    """

    action_statistics: ActionStatistics

    def __init__(
        self,
        observation_space: Dict,
        action_space: gymnasium.Space[Any],
        config: VLAConfig,
    ) -> None:
        super().__init__()
        if not isinstance(action_space, Box):
            raise ValueError(
                f"{action_space} is of choices, {type(self).__name__} makes numbers:"
                " take a model with tokens for actions (tiny, or OpenVLA's)"
            )
        self.layout = action_layout(action_space, config.chunk_length)
        self.chunk_length = self.layout.length
        self.action_statistics = ActionStatistics(self.layout.size)
        self.action_statistics.from_bounds(*bounds(action_space, self.layout))
        self.proprio_statistics = proprio_statistics(observation_space)
        self.log_std = nn.Parameter(
            torch.full((self.layout.size,), config.log_std_init)
        )

    @abstractmethod
    def look(self, observations: Any) -> Look:
        """What the network makes of observations."""

    def act(
        self,
        observations: Any,
        deterministic: bool = False,
        generator: torch.Generator | None = None,
    ) -> VLAOutput:
        """Act, at random (drawn from `generator`) or as is most likely."""
        mean, value = self.look(observations)
        policy = self._policy(mean)
        tokens = policy.mode() if deterministic else policy.sample(generator)
        action = self.action_statistics.denormalize(self.layout.inside(tokens))
        return self._output(action, tokens, policy, value)

    def evaluate(self, observations: Any, actions: Tensor) -> VLAOutput:
        """What it says of given actions, chunks `[B, L, D]`."""
        mean, value = self.look(observations)
        tokens = self.action_statistics.normalize(actions).flatten(1)
        return self._output(actions, tokens, self._policy(mean), value)

    def get_value(self, observations: Any) -> Tensor:
        """The state's value, `[B, 1]`."""
        return self.look(observations).value.unsqueeze(-1)

    def metrics(self) -> dict[str, Tensor]:
        """The mean standard deviation, as `policy_std`, in units of half a range."""
        return {"policy_std": self.log_std.detach().exp().mean()}

    def cut(self, chunk: Tensor) -> Tensor:
        """Of a network's chunk `[B, l, d]` what this model acts by, `[B, L, D]`."""
        length, size = self.layout.length, self.layout.size
        if chunk.shape[1] < length or chunk.shape[2] < size:
            raise ValueError(
                f"the network makes chunks of {chunk.shape[1]} actions of"
                f" {chunk.shape[2]} numbers, and {length} of {size} are asked for:"
                " choose a smaller chunk_length, or the environment that it is made for"
            )
        return chunk[:, :length, :size].float()

    def _policy(self, mean: Tensor) -> TokenGaussian:
        log_std = self.log_std.repeat(self.layout.length)
        return TokenGaussian(mean.flatten(1), log_std)

    def _output(
        self, action: Tensor, tokens: Tensor, policy: TokenGaussian, value: Tensor
    ) -> VLAOutput:
        log_prob = self.layout.inside(policy.log_prob(tokens))
        return VLAOutput(action, log_prob, policy.entropy().sum(-1), value)
