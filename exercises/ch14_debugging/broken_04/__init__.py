"""PPO that standardizes its observations by a class of its own."""

from yieldrl.algorithms.ppo import Agent, Algorithm, Config

from .model import Model
from .trainer import Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
