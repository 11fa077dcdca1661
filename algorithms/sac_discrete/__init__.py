"""Soft actor-critic for discrete actions (Christodoulou 2019, arXiv:1910.07207)."""

from .agent import Agent
from .algorithm import Algorithm
from .config import Config
from .model import Model
from .trainer import Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
