"""Hyper-parameters of REINFORCE."""

from typing import Any, ClassVar, Literal

from pydantic.dataclasses import dataclass

from yieldrl import core
from yieldrl.core import LearningRate, UnitInterval, Widths


@dataclass(frozen=True, kw_only=True)
class Config(core.SyncOnly, core.Config):
    """REINFORCE; the defaults learn CartPole-v1 in 100 000 steps."""

    uncompiled: ClassVar[str | None] = "every batch of episodes has another size"
    report_every: ClassVar[Any] = 1  # a reset drops pending statistics

    num_envs: int = 1
    """Number of environments stepped side by side, at most `num_episodes`. More than
    one waits for the longest episode of each batch, and the steps that the others take
    meanwhile are lost."""

    num_episodes: int = 8
    """Whole episodes behind each gradient step, over all environments. More give
    gradients with less noise and fewer steps."""

    learning_rate: LearningRate = 3e-3
    """Learning rate of Adam. Too high makes the policy collapse."""

    gamma: UnitInterval = 0.99
    """Discount of future rewards, from 0 (only the next one counts) to 1 (all count
    alike). Rewards some 1 / (1 - gamma) steps ahead still matter."""

    baseline: Literal["none", "mean", "batch"] = "batch"
    """Number subtracted from returns to lower the variance of the gradient: `none`
    nothing, `mean` their running mean over earlier batches, `batch` their mean in this
    batch, which also divides them by their standard deviation."""

    hidden_sizes: Widths = (64, 64)
    """Widths of the hidden layers. Wider or more layers can represent more and take
    longer to compute and to learn."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_range("num_episodes", low=self.num_envs, high=2**20)
