"""Dueling DQN (Wang et al. 2016, arXiv:1511.06581)."""

from yieldrl.algorithms.dqn import Agent, Algorithm, Config

from .algorithm import Model, Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
