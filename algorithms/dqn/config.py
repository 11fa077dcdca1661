"""Hyper-parameters of DQN."""

from pydantic.dataclasses import dataclass

from yieldrl.algorithms.off_policy import OffPolicyConfig
from yieldrl.core import BatchSize, LearningRate, Positive, Steps, UnitInterval, Widths


@dataclass(frozen=True, kw_only=True)
class Config(OffPolicyConfig):
    """Deep Q-network; the defaults solve CartPole-v1 in 150 000 steps."""

    total_steps: int = 150_000

    buffer_size: int = 150_000
    """Transitions that the replay buffer keeps; the oldest are overwritten. A smaller
    one forgets rare events, such as the failures of an agent that has learned to avoid
    them. By default nothing is forgotten."""

    train_every: Steps = 2
    batch_size: BatchSize = 128

    learning_rate: LearningRate = 1e-3
    """Learning rate of Adam at the start. Higher learns faster, too high diverges."""

    anneal_learning_rate: bool = True
    """Let the learning rate fall linearly to zero at `total_steps`, which averages out
    noise that the maximum over actions would overestimate. Turn it off to go on
    training later."""

    epsilon_start: UnitInterval = 1.0
    """Probability of a random action at the start."""

    epsilon_end: UnitInterval = 0.05
    """Probability of a random action once exploration has settled. Higher explores for
    ever at the cost of the return while training; evaluations never explore."""

    exploration_fraction: UnitInterval = 0.2
    """Share of `total_steps` over which epsilon falls linearly from `epsilon_start` to
    `epsilon_end`. Higher explores for longer."""

    error_clip: Positive | None = None
    """TD errors above this size count linearly instead of squared (Huber loss). Lower
    makes learning robust to outliers and slow to notice rare large errors. The paper
    has 1, for rewards clipped to [-1, 1]; by default every error is squared."""

    max_grad_norm: Positive | None = None
    """Gradients with a larger norm are scaled down to it. Lower prevents large updates
    and slows learning from rare large errors; by default they are left as they are."""

    hidden_sizes: Widths = (120, 84)
