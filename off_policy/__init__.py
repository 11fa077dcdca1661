"""What algorithms that learn from a replay buffer share; each keeps its mathematics."""

from yieldrl.off_policy.box_model import BoxModel
from yieldrl.off_policy.config import OffPolicyConfig
from yieldrl.off_policy.epsilon import EpsilonConfig, EpsilonGreedy
from yieldrl.off_policy.trainer import OffPolicyTrainer
from yieldrl.off_policy.warm_up import RandomWarmUp

__all__ = [
    "BoxModel",
    "EpsilonConfig",
    "EpsilonGreedy",
    "OffPolicyConfig",
    "OffPolicyTrainer",
    "RandomWarmUp",
]
