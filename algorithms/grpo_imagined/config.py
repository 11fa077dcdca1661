"""Hyper-parameters of GRPO with groups that are imagined."""

from pydantic.dataclasses import dataclass

from yieldrl.algorithms import vla_grpo
from yieldrl.imagination.imagining_config import ImaginesTooConfig


@dataclass(frozen=True, kw_only=True)
class Config(ImaginesTooConfig, vla_grpo.Config):
    """GRPO for vision-language-action policies beside a model of the world; the
    defaults let a tiny one, on a small grid, go on from a weak clone."""

    total_steps: int = 20_000
    """Environment steps to train for, the expert's and those after. What is imagined
    does not count. The learning rate falls to zero over the real ones."""

    num_branches: int = 512
    """Branches that are imagined at a time, a multiple of `group_size`: so many from
    each real state. More give steadier updates, and take more time."""

    gamma: float = 0.95
    """Discount of rewards in returns, from 0 (only the next counts) to 1 (all do).
    Below 1 a success counts for more the earlier it comes, in a horizon too."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_branches % self.group_size:
            remedy = (
                f"a group would not be whole: choose a multiple of {self.group_size}"
            )
            raise self.error("num_branches", remedy)
