"""Soft actor-critic (Haarnoja et al. 2018, arXiv:1801.01290 and 1812.05905)."""

from .agent import Agent
from .algorithm import Algorithm
from .config import Config
from .model import Model
from .trainer import Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
