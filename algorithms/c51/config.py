"""Hyper-parameters of C51."""

from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from yieldrl.algorithms import dqn
from yieldrl.foundations import MAX_NUMBER

FLOAT32_EPSILON = 2.0**-23  # distance of float32 numbers near 1


@dataclass(frozen=True, kw_only=True)
class Config(dqn.Config):
    """Categorical DQN; the defaults' atoms hold the returns of CartPole-v1."""

    # The loss is a cross entropy: there is no error to square or to clip.
    error_clip: ClassVar[None] = None

    num_atoms: Annotated[int, Field(ge=2, le=4096)] = 51
    """Returns that the predicted distribution may take, spread evenly from `v_min` to
    `v_max`. More describe it more finely and take longer."""

    v_min: Annotated[float, Field(ge=-MAX_NUMBER)] = 0.0
    """Lowest discounted return that the distribution can hold; lower ones count as this
    one. The paper has -10, for rewards clipped to [-1, 1]."""

    v_max: Annotated[float, Field(ge=-MAX_NUMBER)] = 100.0
    """Highest discounted return that the distribution can hold; higher ones count as
    this one. Rewards of at most r add up to at most r / (1 - gamma). The paper has 10;
    higher than needed leaves atoms unused and the rest further apart."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.v_min >= self.v_max:
            raise self.error("v_min", f"it must lie below v_max = {self.v_max}")
        # Neighbours must still differ when they are rounded to float32.
        spacing = (self.v_max - self.v_min) / (self.num_atoms - 1)
        size = max(abs(self.v_min), abs(self.v_max), 1e-30)
        if spacing < 2 * FLOAT32_EPSILON * size:
            raise self.error(
                "v_min",
                f"so close to v_max = {self.v_max} that float32 cannot tell"
                f" {self.num_atoms} atoms apart: choose a wider range",
            )
