"""Hyper-parameters of A2C."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from yieldrl.algorithms import ppo


@dataclass(frozen=True, kw_only=True)
class Config(ppo.Config):
    """Advantage actor-critic; the defaults solve CartPole-v1 in 100 000 steps.

    What limits PPO's passes (`clip_coef`, `clip_value`, `target_kl`) has nothing to
    limit here: the one gradient step begins where the policy is.
    """

    num_envs: int = 8
    """Number of environments stepped side by side."""

    num_steps: int = 16
    """Steps of every environment before each update (t_max; the paper has 5)."""

    num_epochs: Literal[1] = 1
    """One pass over each rollout: PPO takes more."""

    num_minibatches: Literal[1] = 1
    """The rollout as a whole."""

    learning_rate: float = 2e-3
    """RMSprop's step size at the start."""

    gae_lambda: float = 1.0
    """1 sums rewards to the rollout's end, as the paper does; 0 trusts the critic."""

    normalize_advantage: bool = False
    """Centre and scale the advantages of every rollout."""

    def __post_init__(self) -> None:
        for name in ("num_epochs", "num_minibatches"):
            if getattr(self, name) != 1:
                raise self.error(
                    name, "A2C takes one gradient step on a rollout, PPO takes more"
                )
        super().__post_init__()
        if self.compile:
            raise self.error("compile", "only Adam's step can be compiled, take PPO")
