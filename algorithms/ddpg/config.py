"""Hyper-parameters of DDPG."""

from pydantic.dataclasses import dataclass

from yieldrl.algorithms.off_policy import OffPolicyConfig
from yieldrl.core import Coefficient, LearningRate


@dataclass(frozen=True, kw_only=True)
class Config(OffPolicyConfig):
    """Deep deterministic policy gradient, for actions that are numbers in bounds; the
    defaults learn Pendulum-v1."""

    env_id: str = "Pendulum-v1"
    total_steps: int = 20_000

    learning_rate: LearningRate = 1e-3
    """Learning rate of Adam, of the actor and of the critic. Higher learns faster, too
    high diverges."""

    exploration_noise: Coefficient = 0.1
    """Standard deviation of the normal noise added to every exploring action, as a
    share of half the width of its bounds. Higher explores more and follows the actor
    less."""
