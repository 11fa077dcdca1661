"""Hyper-parameters of TD3."""

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from yieldrl.algorithms import ddpg
from yieldrl.foundations import Steps


@dataclass(frozen=True, kw_only=True)
class Config(ddpg.Config):
    """Twin delayed DDPG; the defaults learn Pendulum-v1."""

    policy_delay: Steps = 2
    """Gradient steps of the critics for each one of the actor. More let the critics
    settle before the actor follows them; 1 moves both together."""

    target_every: int = 2
    """Gradient steps between synchronisations of the target networks; in the paper as
    many as `policy_delay`. More make targets steadier and learning slower."""

    policy_noise: Annotated[float, Field(ge=0, le=1_000)] = 0.2
    """Standard deviation of the normal noise that smooths the target action, as a share
    of half the width of its bounds. Higher averages values over more actions; 0 turns
    it off."""

    noise_clip: Annotated[float, Field(ge=0, le=1_000)] = 0.5
    """Largest size of the noise on the target action, as a share of half the width of
    its bounds. Lower keeps the target action closer to what the actor chose."""
