"""GRPO done right (Liu et al. 2025, arXiv:2503.20783)."""

from yieldrl.algorithms.grpo import Agent, Config, Model

from .algorithm import Algorithm, Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
