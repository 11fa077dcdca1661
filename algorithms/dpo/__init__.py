"""Direct preference optimization (Rafailov et al. 2023, arXiv:2305.18290)."""

from yieldrl.algorithms.ppo import Agent
from yieldrl.algorithms.ppo.model import Actor as Model

from .algorithm import Algorithm, Config, Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
