"""Hyper-parameters of n-step DQN."""

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from yieldrl.algorithms import dqn


@dataclass(frozen=True, kw_only=True)
class Config(dqn.Config):
    """DQN that looks n steps ahead; all other defaults are DQN's."""

    n_step: Annotated[int, Field(ge=1, le=1_000)] = 3
    """Steps whose rewards are summed before the value of the state after them is
    estimated. More carry rewards back faster and depend less on the estimate; they add
    variance, and the actions of an older policy."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.buffer_size < self.n_step * self.num_envs:
            raise self.error(
                "n_step",
                f"buffer_size = {self.buffer_size} does not hold that many steps of"
                f" {self.num_envs} environments: look less far, or keep more",
            )
