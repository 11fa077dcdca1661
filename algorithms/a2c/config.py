"""Hyper-parameters of A2C."""

from typing import ClassVar

from pydantic.dataclasses import dataclass

from yieldrl.algorithms import ppo
from yieldrl.core import LearningRate


@dataclass(frozen=True, kw_only=True)
class Config(ppo.Config):
    """Advantage actor-critic; the defaults solve CartPole-v1 in 100 000 steps."""

    num_epochs: ClassVar[int] = 1  # each rollout is used once, as a whole
    num_minibatches: ClassVar[int] = 1
    clip_coef: ClassVar[float] = 0.0
    clip_value: ClassVar[None] = None
    target_kl: ClassVar[None] = None
    desired_kl: ClassVar[None] = None

    num_envs: int = 8

    num_steps: int = 16
    """Steps that every environment takes before each update (t_max; the paper has 5).
    More give better estimates of the advantage and fewer updates."""

    learning_rate: LearningRate = 2e-3
    """Learning rate of RMSprop at the start. Higher learns faster, too high makes the
    policy collapse."""

    gae_lambda: float = 1.0
    """Lambda of generalized advantage estimation: 1 sums the rewards to the rollout's
    end, as the paper does (much variance, no bias of the critic); 0 trusts the critic
    (little variance, more bias)."""

    normalize_advantage: bool = False
    """Subtract the mean of every rollout's advantages and divide by their standard
    deviation, so that the size of rewards does not change the size of the steps."""
