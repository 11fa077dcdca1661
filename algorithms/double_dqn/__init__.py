"""Double DQN (van Hasselt et al. 2016, arXiv:1509.06461)."""

from yieldrl.algorithms.dqn import Agent, Config, Model

from .algorithm import Algorithm, Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
