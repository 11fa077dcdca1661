"""Group sequence policy optimization (Zheng et al. 2025, arXiv:2507.18071)."""

from yieldrl.algorithms.grpo import Agent, Model

from .algorithm import Algorithm, Config, Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
