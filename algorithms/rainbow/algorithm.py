"""The mathematics of Rainbow: nothing but that of its parts."""

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import (
    c51,
    double_dqn,
    dqn,
    dueling_dqn,
    n_step_dqn,
    prioritized_dqn,
)
from yieldrl.core import Coefficient
from yieldrl.networks import NoisyMLP, noise, noisy_layers


@dataclass(frozen=True, kw_only=True)
class Config(prioritized_dqn.Config, n_step_dqn.Config, c51.Config):
    """Rainbow; the defaults' atoms hold the returns of CartPole-v1."""

    # C51's loss has no error to clip, though the other parents have the field.
    error_clip: ClassVar[None] = None

    epsilon_start: float = 0.0
    """Probability of a random action at the start. At 0 the noisy layers alone
    explore."""

    epsilon_end: float = 0.0
    """Probability of a random action once `exploration_fraction` of training has
    passed. At 0 the noisy layers alone explore."""

    noise_sigma: Coefficient = 0.1
    """Standard deviation of the weights' noise at the start, in units of 1 / sqrt(p)
    for a layer of p inputs; it is learned from there. Higher explores more. The paper
    has 0.5, for layers of hundreds of inputs, which is much for layers of a few."""


class Model(c51.Model, dueling_dqn.Model):
    """C51's atoms for every action, from the dueling streams, by noisy layers.

    Only the streams are noisy. What they share is not, as in the paper, whose streams
    share convolutions.

    Differs from the paper: behind the convolutions, both streams share 512 features.
    """

    config: Config

    def make_mlp(self, sizes: Sequence[int]) -> NoisyMLP:
        return NoisyMLP(sizes, "relu", sigma=self.config.noise_sigma)


class Algorithm(double_dqn.Algorithm, prioritized_dqn.Algorithm, c51.Algorithm):
    """Six improvements of DQN, each from its own folder.

    Hessel et al. 2018, "Rainbow: Combining Improvements in Deep Reinforcement
    Learning", arXiv:1710.02298.

    - Double DQN: `next_action`, the online network's choice.
    - Prioritized replay: `weigh`, `priority`; the buffer of `Trainer`.
    - Distributions: `td_target`, `element_loss`; the atoms of `Model`.
    - Dueling streams: `Model`.
    - n-step returns: in the data, by the buffer of `Trainer`.
    - Noisy networks: the layers of `Model`, the noise of `Agent`.

    Differs from the paper: as `dqn.Algorithm` does; there is less noise at the start
    (`noise_sigma`); Double DQN's choice is made under the same noise as the loss.
    """

    model: Model
    target_model: Model

    def priority(self, element_loss: Tensor, elements: Logs) -> Tensor:
        """Priorities `[B]`: the KL divergence of target and predicted distribution."""
        return elements["kl"]


class Agent(dqn.Agent):
    """Greedy under noise, which is drawn anew for every step and every update.

    Fortunato et al. 2018, "Noisy Networks for Exploration", arXiv:1706.10295. Outside
    of both there is no noise: `predict` acts by the mean weights.
    """

    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """Actions `[N]`, all under the same noise."""
        with noise(noisy_layers(self.model), self.generator):
            return super().explore(obs)

    def learn(self, data: TensorDict) -> Logs:
        """One gradient step; the network and its target have noise of their own."""
        target = self.algorithm.target_model
        with noise(noisy_layers(self.model) + noisy_layers(target), self.generator):
            return super().learn(data)


class Trainer(prioritized_dqn.Trainer, n_step_dqn.Trainer):
    """Prioritized replay's schedule around all the rest."""

    config: Config
    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
    agent_class = Agent
