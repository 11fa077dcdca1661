"""Hyper-parameters of DQN with prioritized replay."""

from __future__ import annotations

from dataclasses import dataclass

from yieldrl.algorithms import dqn


@dataclass(frozen=True, kw_only=True)
class Config(dqn.Config):
    """DQN with prioritized replay; priorities as in the paper, the rest as in DQN."""

    priority_alpha: float = 0.6
    """Exponent of the priorities: at 0 transitions are drawn uniformly, at 1 in
    proportion to their TD error. Higher draws those with large errors more often."""

    priority_beta: float = 0.4
    """How much importance weights correct the bias of the sampling at the start: 0 not
    at all, 1 fully. It rises linearly to 1 at `total_steps`."""

    priority_epsilon: float = 1e-6
    """Added to the size of every TD error, so that a transition without an error can be
    drawn again. Higher makes sampling more uniform."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_range("priority_alpha", low=0, high=4)
        self._check_range("priority_beta", low=0, high=1)
        self._check_range("priority_epsilon", low=1e-9, high=1e6)
