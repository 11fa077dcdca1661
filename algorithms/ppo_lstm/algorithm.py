"""The mathematics of recurrent PPO: PPO's, over sequences."""

from typing import Any, ClassVar

import torch
from gymnasium import Space
from pydantic.dataclasses import dataclass
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import ppo
from yieldrl.algorithms.ppo.config import check_whole_sequences
from yieldrl.algorithms.remembering import RememberingAgent
from yieldrl.buffers import Minibatches, sequences
from yieldrl.core import Count
from yieldrl.networks import LSTM, Distribution


@dataclass(frozen=True, kw_only=True)
class Config(ppo.Config):
    """PPO with an LSTM; its width is one more hyper-parameter."""

    uncompiled: ClassVar[str | None] = "its loop over time takes minutes to compile"

    lstm_size: Count = 64
    """Width of the LSTM's output; its memory is twice as many numbers. Wider can
    remember more and takes longer to compute and to learn."""

    num_envs: int = 16
    """Number of environments stepped side by side. Minibatches hold whole sequences, so
    there must be at least `num_minibatches` of them."""

    num_minibatches: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole_sequences(self)


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
        encoder = self.critic_encoder
        return config.lstm_size + (0 if encoder is None else encoder.size)

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


class Algorithm(ppo.Algorithm):
    """PPO with a policy that goes by what it sees and by what it remembers.

    The gradient flows back through time to the start of the rollout and no further:
    the memory from which a sequence starts is data, as it was when acting.
    """

    model: Model

    def minibatches(self, data: TensorDict, seed: int) -> Minibatches:
        """Epochs in random order over the sequences of whole environments."""
        sizes = self.config.num_epochs, self.config.num_minibatches
        samples = sequences(data, starts=["memory"])
        return Minibatches(samples, *sizes, seed, sequences=True)

    def loss(
        self, data: TensorDict, evaluated: tuple[Any, ...] | None = None
    ) -> tuple[Tensor, Logs]:
        """PPO's objective, on a minibatch of sequences `[T, n]`."""
        action = data["action"].flatten(0, 1)
        evaluated = self.model.evaluate_actions(self.model.inputs(data), action)
        flat = data.exclude("obs", "memory").flatten(0, 1)
        if "valid" in flat.keys():  # noqa: SIM118 - TensorDict iterates over the batch
            valid = flat["valid"]  # skip steps that only reset
            flat, evaluated = flat[valid], tuple(part[valid] for part in evaluated)
        return super().loss(flat, evaluated)


class Agent(RememberingAgent):
    """PPO's, with a memory."""

    recordable: ClassVar[bool] = True


class Trainer(ppo.Trainer):
    """PPO's, with minibatches of whole sequences."""

    config: Config
    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
    agent_class = Agent
