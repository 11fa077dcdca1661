"""The Q-network of DQN."""

from collections.abc import Sequence
from typing import Any

from gymnasium import Space
from gymnasium.spaces import Discrete
from torch import Tensor, nn

from yieldrl import abstractions
from yieldrl.networks import MLP, make_encoder

from .config import Config


class Model(abstractions.Model):
    """`Q(s, .)` for every action at once, from one network.

    A variant overrides `make_mlp` (layers), `make_head` (streams, numbers per action)
    or `action_values` (how those numbers become `Q`). TypeError if actions are not a
    single choice.
    """

    config: Config

    def __init__(
        self, observation_space: Space[Any], action_space: Space[Any], config: Config
    ) -> None:
        if not isinstance(action_space, Discrete):
            need = f"DQN needs a Discrete action space, got {action_space}"
            raise TypeError(f"{need}: take PPO for continuous or several actions")
        super().__init__(observation_space, action_space)
        self.config = config
        self.encoder = make_encoder(observation_space)
        self.num_actions = int(action_space.n)
        self.head = self.make_head()

    def make_mlp(self, sizes: Sequence[int]) -> MLP:
        """Layers of these widths."""
        return MLP(sizes, "relu")

    def make_head(self, per_action: int = 1) -> nn.Module:
        """From features `[B, F]` to all actions' numbers, `[B, A * per_action]`."""
        outputs = self.num_actions * per_action
        return self.make_mlp([self.encoder.size, *self.config.hidden_sizes, outputs])

    def action_values(self, obs: Any) -> Tensor:
        """`Q(s, .)`, `[B, A]`."""
        return self.head(self.encoder(obs))

    def value(self, obs: Any, action: Tensor | None = None) -> Tensor:
        """`Q(s, .)`, `[B, A]`; with actions `[B]` their `Q(s, a)`, `[B]`."""
        q_value = self.action_values(obs)
        if action is None:
            return q_value
        return q_value.gather(1, action.unsqueeze(1)).squeeze(1)
