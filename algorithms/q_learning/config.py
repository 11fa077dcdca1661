"""Hyper-parameters of Q-learning."""

from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from yieldrl import core
from yieldrl.core import UnitInterval


@dataclass(frozen=True, kw_only=True)
class Config(core.Config):
    """Q-learning with a table; the defaults learn the slippery FrozenLake-v1."""

    uncompiled: ClassVar[str | None] = "it has a table and no gradient"
    precision: ClassVar[str] = "float32"

    env_id: str = "FrozenLake-v1"
    """Id of a registered environment whose states can be numbered."""

    num_envs: int = 1
    total_steps: int = 200_000
    device: str = "cpu"
    eval_every: int = 20_000
    eval_episodes: int = 100

    learning_rate: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Learning rate at the first update of an entry: the share of the TD error by which
    the entry moves. Higher learns faster and follows chance more."""

    visit_power: UnitInterval = 0.6
    """At its n-th update an entry moves by `learning_rate / n ** visit_power` of the TD
    error. Above 0.5 and up to 1 the table converges; lower forgets old estimates
    sooner, and 0 keeps the learning rate constant."""

    gamma: UnitInterval = 0.99
    """Discount of future rewards, from 0 (only the next one counts) to 1 (all count
    alike). Rewards some 1 / (1 - gamma) steps ahead still matter."""

    epsilon_start: UnitInterval = 1.0
    """Probability of a random action at the start."""

    epsilon_end: UnitInterval = 0.1
    """Probability of a random action once exploration has settled. Higher explores for
    ever at the cost of the return while training; evaluations never explore."""

    exploration_fraction: UnitInterval = 0.5
    """Share of `total_steps` over which epsilon falls linearly from `epsilon_start` to
    `epsilon_end`. Higher explores for longer."""
