"""Models that predict a whole chunk of numbers, as the mean of a Gaussian."""

from abc import abstractmethod
from typing import Any, NamedTuple

import gymnasium
import torch
from gymnasium.spaces import Box, Dict
from torch import Tensor, nn

from yieldrl.vla.config import VLAConfig
from yieldrl.vla.decoding import Choose
from yieldrl.vla.heads import TokenGaussian
from yieldrl.vla.interface import VLAOutput
from yieldrl.vla.model import OnePassModule
from yieldrl.vla.statistics import ActionStatistics, action_statistics


class Look(NamedTuple):
    """The outputs of one pass of a network, float32."""

    mean: Tensor  # chunks of normalised actions, [B, L, D]
    value: Tensor  # of the states, [B]


class ChunkVLA(OnePassModule):
    """A Gaussian around a network's chunk of actions; it follows `OnePassVLA`.

    Its `log_std [D]`, of normalised actions, is learned and the same in every state.
    """

    action_statistics: ActionStatistics

    def __init__(
        self,
        observation_space: Dict,
        action_space: gymnasium.Space[Any],
        config: VLAConfig,
    ) -> None:
        if not isinstance(action_space, Box):
            raise ValueError(
                f"{action_space} is of choices, {type(self).__name__} makes numbers:"
                " take a model with tokens for actions (tiny, or OpenVLA's)"
            )
        super().__init__(observation_space, action_space, config)
        self.action_statistics = action_statistics(action_space, self.layout)
        self.log_std = nn.Parameter(
            torch.full((self.layout.size,), config.log_std_init)
        )

    @abstractmethod
    def look(self, observations: Any) -> Look:
        """The network's outputs for observations."""

    def answer(
        self, observations: Any, choose: Choose, actions: Tensor | None = None
    ) -> VLAOutput:
        mean, value = self.look(observations)
        log_std = self.log_std.repeat(self.layout.length)
        policy = TokenGaussian(mean.flatten(1), log_std)
        if actions is None:
            tokens = choose(policy)
            actions = self.action_statistics.denormalize(self.layout.inside(tokens))
        else:
            tokens = self.action_statistics.normalize(actions).flatten(1)
        inside = self.layout.inside
        log_prob, entropy = inside(policy.log_prob(tokens)), inside(policy.entropy())
        return VLAOutput(actions, log_prob, entropy, value)

    def get_value(self, observations: Any) -> Tensor:
        """The state's value, `[B, 1]`."""
        return self.look(observations).value.unsqueeze(-1)

    def metrics(self) -> dict[str, Tensor]:
        """The mean standard deviation, as `policy_std`, in units of half a range."""
        return {"policy_std": self.log_std.detach().exp().mean()}

    def cut(self, chunk: Tensor) -> Tensor:
        """The part `[B, L, D]` of a network's chunk `[B, l, d]` that is executed."""
        length, size = self.layout.length, self.layout.size
        if chunk.shape[1] < length or chunk.shape[2] < size:
            raise ValueError(
                f"the network makes chunks of {chunk.shape[1]} actions of"
                f" {chunk.shape[2]} numbers, and {length} of {size} are asked for:"
                " choose a smaller chunk_length, or the environment that it is made for"
            )
        return chunk[:, :length, :size].float()
