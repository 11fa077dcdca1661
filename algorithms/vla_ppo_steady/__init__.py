"""PPO for vision-language-action policies, with what keeps its steps steady."""

from yieldrl.algorithms.vla_ppo import Agent, Model

from .algorithm import Algorithm
from .config import Config
from .trainer import Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
