"""PPO with regularized online adaptation (Fu et al. 2022, arXiv:2210.10044)."""

from .algorithm import Agent, Algorithm, Trainer
from .config import Config
from .model import Model

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
