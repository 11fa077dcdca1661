"""Hyper-parameters of GIPO."""

from dataclasses import dataclass
from typing import Annotated

from yieldrl.algorithms import appo
from yieldrl.foundations import Range


@dataclass(frozen=True, kw_only=True)
class Config(appo.Config):
    """PPO with a smooth weight for a clip, beside a collector in the background."""

    gipo_sigma: Annotated[float, Range(0, 100, above=True)] = 1.0
    """Standard deviation of the weight, in nats of the logarithm of the probability
    ratio. Higher lets actions of an older policy count for more, and the policy change
    more per rollout."""
