"""The mathematics of SAC for discrete actions (Christodoulou 2019, algorithm 1)."""

import math
from typing import Any

import torch
from gymnasium import Space
from gymnasium.spaces import Discrete
from pydantic.dataclasses import dataclass
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl import abstractions
from yieldrl.abstractions import Logs
from yieldrl.algorithms import sac
from yieldrl.core import UnitInterval, Widths, spaces
from yieldrl.networks import MLP, Categorical, EnsembleMLP, make_encoder


@dataclass(frozen=True, kw_only=True)
class Config(sac.Config):
    """Soft actor-critic for discrete actions; the defaults learn CartPole-v1."""

    env_id: str = "CartPole-v1"
    total_steps: int = 30_000
    tau: float = 0.02
    hidden_sizes: Widths = (64, 64)

    target_entropy: float | None = None
    """Entropy at which a learned temperature holds the policy, in nats. Higher is more
    random; by default `entropy_share` of the greatest, `log A` for A actions."""

    entropy_share: UnitInterval = 0.5
    """Share of the greatest entropy that becomes the target where `target_entropy`
    names none. Higher keeps the policy more random; the paper has 0.98."""


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


class Algorithm(sac.Algorithm):
    """SAC that sums over all actions where it drew one before.

    Differs from the paper: targets follow by `tau` and are not copied now and then; by
    default the policy keeps half of the greatest entropy, for 0.98 of it can drive the
    temperature up without end.
    """

    config: Config
    model: Model

    def make_target_entropy(self) -> float:
        """The config's, or a share of `log A`."""
        given, share = self.config.target_entropy, self.config.entropy_share
        return share * math.log(self.model.num_actions) if given is None else given

    def target_value(self, data: TensorDict) -> Tensor:
        """`sum_a pi(a|s') (min_i Q_i'(s', a) - alpha log pi(a|s'))`, `[B]`."""
        obs = data["next_obs"]
        log_p = self.model.action(obs).log_softmax(1)
        next_value = self.target_critic(obs).amin(0)
        return (log_p.exp() * (next_value - self.temperature() * log_p)).sum(1)

    def actor_loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """`sum_a pi(a|s) (alpha log pi(a|s) - min_i Q_i(s, a))`; equation 12."""
        obs = data["obs"]
        log_p = self.model.action(obs).log_softmax(1)
        with torch.no_grad():
            value, alpha = self.model.value(obs).amin(0), self.temperature()
        loss = (log_p.exp() * (alpha * log_p - value)).sum(1).mean()
        entropy = -(log_p.exp() * log_p).sum(1).detach().mean()
        return loss, {"actor_loss": loss.detach(), "entropy": entropy}


class Agent(sac.Agent):
    """Uniformly random at first, samples of the policy from then on."""

    def random_action(self, obs: Any) -> Tensor:
        """Every action as likely, `[N]`."""
        size, most = (spaces.batch_size(obs),), self.algorithm.model.num_actions
        options: Any = {"generator": self.generator, "device": self.device}
        return torch.randint(most, size, **options)


class Trainer(sac.Trainer):
    """After each step into the replay buffer, learn."""

    config: Config
    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
    agent_class = Agent
