"""DQN with prioritized experience replay (Schaul et al. 2016, arXiv:1511.05952)."""

from yieldrl.algorithms.dqn import Agent, Model

from .algorithm import Algorithm, Config, Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
