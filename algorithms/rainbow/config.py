"""Hyper-parameters of Rainbow: those of its parts."""

from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from yieldrl.algorithms import c51, n_step_dqn, prioritized_dqn


@dataclass(frozen=True, kw_only=True)
class Config(prioritized_dqn.Config, n_step_dqn.Config, c51.Config):
    """Rainbow; the defaults' atoms hold the returns of CartPole-v1."""

    # C51's loss has no error to clip, though the other parents have the field.
    error_clip: ClassVar[None] = None

    epsilon_start: float = 0.0
    """Probability of a random action at the start. At 0 the noisy layers alone
    explore."""

    epsilon_end: float = 0.0
    """Probability of a random action once `exploration_fraction` of training has
    passed. At 0 the noisy layers alone explore."""

    noise_sigma: Annotated[float, Field(ge=0, le=1_000)] = 0.1
    """Standard deviation of the weights' noise at the start, in units of 1 / sqrt(p)
    for a layer of p inputs; it is learned from there. Higher explores more. The paper
    has 0.5, for layers of hundreds of inputs, which is much for layers of a few."""
