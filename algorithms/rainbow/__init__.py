"""Rainbow: six improvements of DQN in one (Hessel et al. 2018, arXiv:1710.02298)."""

from .algorithm import Agent, Algorithm, Config, Model, Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
