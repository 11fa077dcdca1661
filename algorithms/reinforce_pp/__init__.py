"""REINFORCE++ (Hu 2025, arXiv:2501.03262)."""

from yieldrl.algorithms.grpo import Agent, Config, Model

from .algorithm import Algorithm, Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
