"""Twin delayed DDPG (Fujimoto et al. 2018, arXiv:1802.09477)."""

from yieldrl.algorithms.ddpg import Agent

from .algorithm import Algorithm, Config, Model, Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
