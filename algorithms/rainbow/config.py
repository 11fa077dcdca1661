"""Hyper-parameters of Rainbow: those of its parts."""

from __future__ import annotations

from dataclasses import dataclass

from yieldrl.algorithms import c51, n_step_dqn, prioritized_dqn


@dataclass(frozen=True, kw_only=True)
class Config(prioritized_dqn.Config, n_step_dqn.Config, c51.Config):
    """Rainbow; the defaults' atoms hold the returns of CartPole-v1."""

    epsilon_start: float = 0.0
    """Probability of a random action at the start; the noise explores."""

    epsilon_end: float = 0.0
    """Probability of a random action when exploration has settled."""

    noise_sigma: float = 0.1
    """How much noise a layer of `p` inputs starts with, in units of 1 / sqrt(p). The
    paper has 0.5, for layers of hundreds of inputs; with a few that is a lot."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_range("noise_sigma", low=0)
