"""Decoupled clip, dynamic sampling (Yu et al. 2025, arXiv:2503.14476)."""

from yieldrl.algorithms.grpo import Agent, Model

from .algorithm import Algorithm, Config, Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
