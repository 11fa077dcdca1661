"""PPO for vision-language-action policies, after cloning demonstrations."""

from yieldrl.algorithms.ppo import Agent

from .algorithm import Algorithm
from .config import Config
from .model import Model
from .trainer import Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
