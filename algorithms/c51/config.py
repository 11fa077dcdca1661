"""Hyper-parameters of C51."""

from __future__ import annotations

from dataclasses import dataclass

from yieldrl.algorithms import dqn


@dataclass(frozen=True, kw_only=True)
class Config(dqn.Config):
    """Categorical DQN; the defaults' atoms hold the returns of CartPole-v1."""

    num_atoms: int = 51
    """Returns that the distribution may take, spread evenly from `v_min` to `v_max`."""

    v_min: float = 0.0
    """Lowest discounted return that can be told apart; the paper has -10, for rewards
    clipped to [-1, 1]. Lower returns count as this one."""

    v_max: float = 100.0
    """Highest one, 10 in the paper. Rewards of at most r give r / (1 - gamma)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_range("num_atoms", low=2)
        if self.v_min >= self.v_max:
            raise self.error("v_min", f"it must lie below v_max = {self.v_max}")
