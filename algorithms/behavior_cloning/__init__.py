"""Behaviour cloning (Pomerleau 1989, ALVINN): supervised learning from an expert."""

from yieldrl.algorithms.ppo import Model

from .agent import Agent
from .algorithm import Algorithm
from .config import Config
from .trainer import Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
