"""PPO with action masks (Huang & Ontañón 2020, arXiv:2006.14171)."""

from yieldrl.algorithms.ppo import Agent

from .algorithm import Algorithm, Config, Model, Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
