"""Gaussian importance sampling policy optimization (arXiv:2603.03955)."""

from yieldrl.algorithms.ppo import Agent, Model

from .algorithm import Algorithm
from .config import Config
from .trainer import Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
