"""SARSA, on-policy learning with a table (Rummery & Niranjan 1994, CUED TR 166)."""

from yieldrl.algorithms.q_learning import Model

from .algorithm import Agent, Algorithm, Config, Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
