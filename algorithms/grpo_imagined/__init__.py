"""GRPO for vision-language-action policies, with groups that are imagined."""

from yieldrl.algorithms.vla_grpo import Agent, Model

from .algorithm import Algorithm, Config, Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
