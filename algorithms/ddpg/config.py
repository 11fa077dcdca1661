"""Hyper-parameters of DDPG."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from yieldrl import foundations, functional
from yieldrl.foundations import (
    BatchSize,
    LearningRate,
    Range,
    Steps,
    StepsOrZero,
    UnitInterval,
    Widths,
)


@dataclass(frozen=True, kw_only=True)
class Config(foundations.Config):
    """Deep deterministic policy gradient; the defaults learn Pendulum-v1."""

    env_id: str = "Pendulum-v1"
    """Id of a registered environment whose actions are numbers in bounds, such as
    `Pendulum-v1` or `HalfCheetah-v5`; `my_module:MyEnv-v0` imports `my_module`
    first."""

    num_envs: int = 1
    """Number of environments stepped side by side. With more, `train_every` and
    `learning_starts` still count the steps of all of them together."""

    total_steps: int = 20_000
    """Environment steps to train for, counted over all environments."""

    buffer_size: int = 1_000_000
    """Transitions that the replay buffer keeps; the oldest are overwritten. A smaller
    one takes less memory and forgets sooner."""

    learning_starts: StepsOrZero = 1_000
    """Environment steps before the first update; their actions are uniformly random.
    More fill the buffer with more varied transitions and delay learning."""

    train_every: Steps = 1
    """Environment steps between updates. A lower number learns more from every step and
    takes more time."""

    gradient_steps: Annotated[int, Range(1, 10**6)] = 1
    """Gradient steps of each update. More learn faster from the same experience, until
    the critic overfits to what is in the buffer."""

    batch_size: BatchSize = 256
    """Transitions drawn for each gradient step. Larger batches give gradients with less
    noise and take longer."""

    target_every: Steps = 1
    """Gradient steps between synchronisations of the target networks. More make targets
    steadier and learning slower."""

    tau: Annotated[float, Range(0, 1, above=True)] = 0.005
    """Share of the online networks that a synchronisation moves into the target
    networks. Lower is steadier and slower; 1 copies them."""

    learning_rate: LearningRate = 1e-3
    """Learning rate of Adam, of the actor and of the critic. Higher learns faster, too
    high diverges."""

    gamma: UnitInterval = 0.99
    """Discount of future rewards, from 0 (only the next one counts) to 1 (all count
    alike). Rewards some 1 / (1 - gamma) steps ahead still matter."""

    exploration_noise: Annotated[float, Range(0, 1_000)] = 0.1
    """Standard deviation of the normal noise added to every exploring action, as a
    share of half the width of its bounds. Higher explores more and follows the actor
    less."""

    hidden_sizes: Widths = (256, 256)
    """Widths of the hidden layers, of the actor and of the critic. Wider or more layers
    can represent more and take longer to compute and to learn."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_range(
            "buffer_size", low=self.num_envs, high=foundations.MAX_TRANSITIONS
        )

    def learn_steps_by(self, sample_step: int) -> int:
        """Gradient steps that should have been taken by an environment step."""
        return functional.updates_due(
            sample_step, self.learning_starts, self.train_every, self.gradient_steps
        )

    def planned_learn_steps(self) -> int:
        """Gradient steps of a whole run."""
        return self.learn_steps_by(self.total_steps)
