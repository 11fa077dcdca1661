"""Hyper-parameters of TD3."""

from __future__ import annotations

from dataclasses import dataclass

from yieldrl.algorithms import ddpg


@dataclass(frozen=True, kw_only=True)
class Config(ddpg.Config):
    """Twin delayed DDPG; the defaults learn Pendulum-v1."""

    policy_delay: int = 2
    """Gradient steps of the critics for each one of the actor."""

    target_every: int = 2
    """Gradient steps between synchronisations of the target networks; in the paper as
    many as `policy_delay`."""

    policy_noise: float = 0.2
    """Deviation of the noise that smooths the target action, as a share of half the
    width of its bounds."""

    noise_clip: float = 0.5
    """Bound of that noise."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_range("policy_delay", low=1)
        self._check_range("policy_noise", low=0)
        self._check_range("noise_clip", low=0)
