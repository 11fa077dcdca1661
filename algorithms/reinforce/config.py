"""Hyper-parameters of REINFORCE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from yieldrl import foundations


@dataclass(frozen=True, kw_only=True)
class Config(foundations.Config):
    """REINFORCE; the defaults learn CartPole-v1 in 100 000 steps."""

    num_envs: int = 1
    """Number of environments stepped side by side. More than one waits for the longest
    episode of each batch, and the others' steps meanwhile are lost."""

    num_episodes: int = 8
    """Whole episodes behind each gradient step, over all environments."""

    learning_rate: float = 3e-3
    """Adam's step size."""

    gamma: float = 0.99
    """Discount of future rewards."""

    baseline: Literal["none", "mean", "batch"] = "batch"
    """What returns are compared with: nothing; their running mean over earlier batches;
    or their mean in this batch, in units of its standard deviation."""

    hidden_sizes: tuple[int, ...] = (64, 64)
    """Widths of the hidden layers."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_range("num_episodes", low=self.num_envs)
        self._check_range("learning_rate", low=0, above=True)
        self._check_range("gamma", low=0, high=1)
        if any(width < 1 for width in self.hidden_sizes):
            raise self.error("hidden_sizes", "every width must be at least 1")
        if self.compile:
            raise self.error(
                "compile",
                "no two batches of episodes have one length, and every length would be"
                " compiled anew: leave it off, or take PPO",
            )
