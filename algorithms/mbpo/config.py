"""Hyper-parameters of MBPO."""

from pydantic.dataclasses import dataclass

from yieldrl.algorithms import sac
from yieldrl.imagination import ImaginationConfig


@dataclass(frozen=True, kw_only=True)
class Config(sac.Config, ImaginationConfig):
    """SAC that mostly learns from imagined steps; the defaults learn Pendulum-v1."""

    total_steps: int = 5_000

    horizon_start: int = 5

    horizon_end: int = 5

    learning_starts: int = 500

    gradient_steps: int = 10
