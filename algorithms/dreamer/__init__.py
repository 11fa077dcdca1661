"""Dreamer: learns in a dream of its own (Hafner et al. 2023, arXiv:2301.04104)."""

from .agent import Agent
from .algorithm import Algorithm
from .config import Config
from .model import Model
from .trainer import Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
