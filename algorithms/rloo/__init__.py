"""REINFORCE leave-one-out (Ahmadian et al. 2024, arXiv:2402.14740)."""

from yieldrl.algorithms.grpo import Agent, Config, Model

from .algorithm import Algorithm, Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
