"""Hyper-parameters of GIPO."""

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from yieldrl.algorithms import appo


@dataclass(frozen=True, kw_only=True)
class Config(appo.Config):
    """PPO with a smooth weight for a clip, beside a collector in the background."""

    gipo_sigma: Annotated[float, Field(gt=0, le=100)] = 1.0
    """Standard deviation of the weight, in nats of the logarithm of the probability
    ratio. Higher lets actions of an older policy count for more, and the policy change
    more per rollout."""
