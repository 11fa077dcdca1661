"""Hyper-parameters of DQN with prioritized replay."""

from __future__ import annotations

from dataclasses import dataclass

from yieldrl.algorithms import dqn


@dataclass(frozen=True, kw_only=True)
class Config(dqn.Config):
    """DQN with prioritized replay; priorities as in the paper, the rest as in DQN."""

    priority_alpha: float = 0.6
    """How much priorities matter: 0 samples uniformly, 1 in full proportion."""

    priority_beta: float = 0.4
    """How much importance weights correct at the start; it rises to 1, linearly."""

    priority_epsilon: float = 1e-6
    """Added to every error, so that a transition without one is still drawn."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_range("priority_alpha", low=0)
        self._check_range("priority_beta", low=0, high=1)
        self._check_range("priority_epsilon", low=0, above=True)
