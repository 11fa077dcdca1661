"""Hyper-parameters of DDPG."""

from pydantic.dataclasses import dataclass

from yieldrl.algorithms.off_policy import OffPolicyConfig
from yieldrl.core import Coefficient, LearningRate


@dataclass(frozen=True, kw_only=True)
class Config(OffPolicyConfig):
    """Deep deterministic policy gradient; the defaults learn Pendulum-v1."""

    env_id: str = "Pendulum-v1"
    """Id of a registered environment whose actions are numbers in bounds, such as
    `Pendulum-v1` or `HalfCheetah-v5`; `my_module:MyEnv-v0` imports `my_module`
    first."""

    total_steps: int = 20_000

    learning_rate: LearningRate = 1e-3
    """Learning rate of Adam, of the actor and of the critic. Higher learns faster, too
    high diverges."""

    exploration_noise: Coefficient = 0.1
    """Standard deviation of the normal noise added to every exploring action, as a
    share of half the width of its bounds. Higher explores more and follows the actor
    less."""
