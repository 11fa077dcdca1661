"""Rainbow: six improvements of DQN in one (Hessel et al. 2018, arXiv:1710.02298)."""

from .agent import Agent
from .algorithm import Algorithm
from .config import Config
from .model import Model
from .trainer import Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
