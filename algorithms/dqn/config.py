"""Hyper-parameters of DQN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from yieldrl import foundations, functional
from yieldrl.foundations import (
    BatchSize,
    LearningRate,
    Positive,
    Range,
    Steps,
    StepsOrZero,
    UnitInterval,
    Widths,
)


@dataclass(frozen=True, kw_only=True)
class Config(foundations.Config):
    """Deep Q-network; the defaults solve CartPole-v1 in 150 000 steps."""

    num_envs: int = 1
    """Number of environments stepped side by side. With more, `train_every` and
    `learning_starts` still count the steps of all of them together."""

    total_steps: int = 150_000
    """Environment steps to train for, counted over all environments. Annealing and
    exploration run over them."""

    buffer_size: int = 150_000
    """Transitions that the replay buffer keeps; the oldest are overwritten. A smaller
    one takes less memory and forgets rare events, such as the failures of an agent that
    has learned to avoid them. By default nothing is forgotten."""

    learning_starts: StepsOrZero = 1_000
    """Environment steps before the first update. More fill the buffer with more varied
    transitions and delay learning."""

    train_every: Steps = 2
    """Environment steps between updates. A lower number learns more from every step and
    takes more time."""

    gradient_steps: Annotated[int, Range(1, 10**6)] = 1
    """Gradient steps of each update. More learn faster from the same experience, until
    the network overfits to what is in the buffer."""

    batch_size: BatchSize = 128
    """Transitions drawn for each gradient step. Larger batches give gradients with less
    noise and take longer."""

    target_every: Steps = 1
    """Gradient steps between synchronisations of the target network. More make targets
    steadier and learning slower."""

    tau: Annotated[float, Range(0, 1, above=True)] = 0.005
    """Share of the online network that a synchronisation moves into the target network.
    Lower is steadier and slower; 1 copies it, which the paper does every 10 000
    gradient steps."""

    learning_rate: LearningRate = 1e-3
    """Learning rate of Adam at the start. Higher learns faster, too high diverges."""

    anneal_learning_rate: bool = True
    """Let the learning rate fall linearly to zero at `total_steps`. That averages out
    noise at the end, which the maximum over actions would overestimate; turn it off to
    go on training later."""

    gamma: UnitInterval = 0.99
    """Discount of future rewards, from 0 (only the next one counts) to 1 (all count
    alike). Rewards some 1 / (1 - gamma) steps ahead still matter."""

    epsilon_start: UnitInterval = 1.0
    """Probability of a random action at the start."""

    epsilon_end: UnitInterval = 0.05
    """Probability of a random action once exploration has settled. Higher explores for
    ever at the cost of the return while training; evaluations never explore."""

    exploration_fraction: UnitInterval = 0.2
    """Share of `total_steps` over which epsilon falls linearly from `epsilon_start` to
    `epsilon_end`. Higher explores for longer."""

    epsilon_spread: Annotated[float, Range(0, 1_000)] = 0.0
    """Above 0, environment i of N explores with epsilon^(1 + i/(N-1) * spread): the
    first with epsilon itself, the others with less and less (Horgan et al. 2018,
    arXiv:1803.00933, with 7). At 0 all explore alike."""

    error_clip: Positive | None = None
    """TD errors above this size count linearly instead of squared (Huber loss). Lower
    makes learning robust to outliers and slow to notice rare large errors. The paper
    has 1, for rewards clipped to [-1, 1]; by default every error is squared."""

    max_grad_norm: Positive | None = None
    """Gradients with a larger norm are scaled down to it. Lower prevents large updates
    and slows learning from rare large errors, such as those of an episode's end; by
    default gradients are left as they are."""

    hidden_sizes: Widths = (120, 84)
    """Widths of the hidden layers. Wider or more layers can represent more and take
    longer to compute and to learn."""

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
