"""The networks of SAC for discrete actions."""

from typing import Any

from gymnasium import Space
from gymnasium.spaces import Discrete
from torch import Tensor, nn

from yieldrl import abstractions
from yieldrl.networks import MLP, Categorical, EnsembleMLP, make_encoder

from .config import Config


class Model(abstractions.Model):
    """A policy's logits and two critics, each for all actions at once.

    TypeError if actions are not a single choice.
    """

    def __init__(
        self, observation_space: Space[Any], action_space: Space[Any], config: Config
    ) -> None:
        if not isinstance(action_space, Discrete):
            got = f"the action space must be Discrete, got {action_space}"
            raise TypeError(f"{got}: take SAC for numbers in bounds, or PPO")
        super().__init__(observation_space, action_space)
        self.num_actions = int(action_space.n)
        encoder = make_encoder(observation_space)
        sizes = [encoder.size, *config.hidden_sizes, self.num_actions]
        self.actor = nn.Sequential(encoder, MLP(sizes, "relu"))
        encoder = make_encoder(observation_space)
        normalizes = config.normalize_critic
        heads = EnsembleMLP(2, sizes, "relu", normalizes=normalizes)
        self.critic = nn.Sequential(encoder, heads)

    def action(self, obs: Any) -> Tensor:
        """Logits, `[B, A]`."""
        return self.actor(obs)

    def policy(self, obs: Any) -> Categorical:
        """`pi(.|s)`, a distribution over actions."""
        return Categorical(self.action(obs))

    def value(self, obs: Any, action: Tensor | None = None) -> Tensor:
        """`Q(s, .)`, `[2, B, A]`; with actions `[B]` their `Q(s, a)`, `[2, B]`."""
        q_value = self.critic(obs)
        if action is None:
            return q_value
        index = action.expand(len(q_value), -1).unsqueeze(-1)
        return q_value.gather(-1, index).squeeze(-1)
