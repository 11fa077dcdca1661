"""The networks of SAC: a stochastic actor, two critics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from yieldrl.algorithms import td3
from yieldrl.networks import MLP, SquashedGaussian

LOG_STD = (-20.0, 2.0)


class Model(td3.Model):
    """TD3's networks, whose actor outputs the mean and standard deviation."""

    def make_actor(self, sizes: Sequence[int]) -> nn.Module:
        """The actor's layers: twice as many outputs."""
        *others, size = sizes
        return MLP([*others, 2 * size], "relu")

    def policy(self, obs: Any) -> SquashedGaussian:
        """`pi(.|s)`, a distribution over actions in [-1, 1]."""
        mean, log_std = self.actor(obs).chunk(2, dim=-1)
        return SquashedGaussian(mean, log_std.clamp(*LOG_STD), self.action_shape)

    def action(self, obs: Any) -> Tensor:
        """`tanh` of the mean, `[B, ...]`."""
        return self.policy(obs).mode()
