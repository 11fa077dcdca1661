"""Recurrent PPO: it remembers, with an LSTM (Ni et al. 2022, arXiv:2110.05038)."""

from .agent import Agent
from .algorithm import Algorithm
from .config import Config
from .model import Model
from .trainer import Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
