"""SARSA, on-policy learning with a table (Rummery & Niranjan 1994, CUED TR 166)."""

from yieldrl.algorithms.q_learning import Model

from .agent import Agent
from .algorithm import Algorithm
from .config import Config
from .trainer import Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
