"""Group relative policy optimization (Shao et al. 2024, arXiv:2402.03300)."""

from yieldrl.algorithms.ppo import Agent
from yieldrl.algorithms.ppo.model import Actor as Model

from .algorithm import Algorithm, Config, Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
