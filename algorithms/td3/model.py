"""The networks of TD3: one actor, two critics."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from yieldrl.algorithms import ddpg
from yieldrl.networks import EnsembleMLP


class Model(ddpg.Model):
    """DDPG's networks, with two critics as one batched network: `Q(s, a)`, `[2, B]`."""

    def make_critic(self, sizes: Sequence[int]) -> nn.Module:
        """The layers of both critics."""
        return EnsembleMLP(2, sizes, "relu")

    def first_value(self, obs: Any, action: Tensor) -> Tensor:
        """`Q1(s, a)`, of the first critic alone, `[B]`."""
        head = self.critic.head
        assert isinstance(head, EnsembleMLP)
        return head.first(self.critic.features(obs, action)).squeeze(-1)
