"""Deep deterministic policy gradient (Lillicrap et al. 2016, arXiv:1509.02971)."""

from .agent import Agent
from .algorithm import Algorithm
from .config import Config
from .model import Model
from .trainer import Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
