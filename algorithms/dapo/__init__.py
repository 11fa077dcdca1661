"""Decoupled clip, dynamic sampling (Yu et al. 2025, arXiv:2503.14476)."""

from yieldrl.algorithms.grpo import Agent, Model

from .algorithm import Algorithm
from .config import Config
from .trainer import Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
