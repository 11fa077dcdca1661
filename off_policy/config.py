"""Hyper-parameters of algorithms that learn from a replay buffer."""

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from yieldrl import core, functional
from yieldrl.core import (
    BatchSize,
    Steps,
    StepsOrZero,
    UnitInterval,
    Widths,
)


@dataclass(frozen=True, kw_only=True)
class OffPolicyConfig(core.Config):
    """Common fields of methods that learn from a replay buffer."""

    num_envs: int = 1
    """Number of environments stepped side by side. With more, `train_every` and
    `learning_starts` still count the steps of all of them together."""

    buffer_size: int = 1_000_000
    """Transitions that the replay buffer keeps; the oldest are overwritten. A smaller
    one takes less memory and forgets sooner."""

    learning_starts: StepsOrZero = 1_000
    """Environment steps before the first update. More fill the buffer with more varied
    transitions and delay learning."""

    train_every: Steps = 1
    """Environment steps between updates. A lower number learns more from every step and
    takes more time."""

    gradient_steps: Annotated[int, Field(ge=1, le=10**6)] = 1
    """Gradient steps of each update. More learn faster from the same experience, until
    the networks overfit to what is in the buffer."""

    batch_size: BatchSize = 256
    """Transitions drawn for each gradient step. Larger batches give gradients with less
    noise and take longer."""

    target_every: Steps = 1
    """Gradient steps between synchronisations of the target networks. More make targets
    steadier and learning slower."""

    tau: Annotated[float, Field(gt=0, le=1)] = 0.005
    """Share of the online networks that a synchronisation moves into the target
    networks. Lower is steadier and slower; 1 copies them."""

    gamma: UnitInterval = 0.99
    """Discount of future rewards, from 0 (only the next one counts) to 1 (all count
    alike). Rewards some 1 / (1 - gamma) steps ahead still matter."""

    hidden_sizes: Widths = (256, 256)
    """Widths of the hidden layers of every network. Wider or more layers can represent
    more and take longer to compute and to learn."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_range("buffer_size", low=self.num_envs, high=core.MAX_TRANSITIONS)

    def learn_steps_by(self, sample_step: int) -> int:
        """Gradient steps that should have been taken by an environment step."""
        return functional.updates_due(
            sample_step, self.learning_starts, self.train_every, self.gradient_steps
        )
