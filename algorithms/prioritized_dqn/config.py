"""Hyper-parameters of DQN with prioritized replay."""

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from yieldrl.algorithms import dqn
from yieldrl.foundations import UnitInterval


@dataclass(frozen=True, kw_only=True)
class Config(dqn.Config):
    """DQN with prioritized replay; priorities as in the paper, the rest as in DQN."""

    priority_alpha: Annotated[float, Field(ge=0, le=4)] = 0.6
    """Exponent of the priorities: at 0 transitions are drawn uniformly, at 1 in
    proportion to their TD error. Higher draws those with large errors more often."""

    priority_beta: UnitInterval = 0.4
    """How much importance weights correct the bias of the sampling at the start: 0 not
    at all, 1 fully. It rises linearly to 1 at `total_steps`."""

    priority_epsilon: Annotated[float, Field(ge=1e-9, le=1e6)] = 1e-6
    """Added to the size of every TD error, so that a transition without an error can be
    drawn again. Higher makes sampling more uniform."""
