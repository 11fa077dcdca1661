"""PPO with its advantages written out."""

from yieldrl.algorithms.ppo import Agent, Config, Model

from .algorithm import Algorithm
from .trainer import Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
