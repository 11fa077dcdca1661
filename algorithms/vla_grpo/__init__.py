"""GRPO for vision-language-action policies, after cloning demonstrations."""

from yieldrl.algorithms.grpo import Agent
from yieldrl.algorithms.vla_ppo import Model

from .algorithm import Algorithm, Config, Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
