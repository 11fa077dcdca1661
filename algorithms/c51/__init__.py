"""Categorical DQN with 51 atoms (Bellemare et al. 2017, arXiv:1707.06887)."""

from yieldrl.algorithms.dqn import Agent

from .algorithm import Algorithm, Config, Model, Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
