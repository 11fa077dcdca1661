"""Direct preference optimization (Rafailov et al. 2023, arXiv:2305.18290)."""

from yieldrl.algorithms.ppo import Agent
from yieldrl.algorithms.ppo.model import Actor as Model

from .algorithm import Algorithm
from .config import Config
from .trainer import Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
