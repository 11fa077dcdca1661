"""Shared parts of off-policy algorithms: configs, exploration, trainer."""

from yieldrl.off_policy.box_model import BoxModel
from yieldrl.off_policy.config import OffPolicyConfig
from yieldrl.off_policy.exploration import EpsilonGreedy, RandomWarmUp
from yieldrl.off_policy.trainer import OffPolicyTrainer

__all__ = [
    "BoxModel",
    "EpsilonGreedy",
    "OffPolicyConfig",
    "OffPolicyTrainer",
    "RandomWarmUp",
]
