"""DQN with n-step returns (Sutton 1988; Hessel et al. 2018, arXiv:1710.02298)."""

from yieldrl.algorithms.dqn import Agent, Algorithm, Model

from .algorithm import Config, Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
