"""PPO for vision-language-action policies, with what keeps its steps steady."""

from yieldrl.algorithms.vla_ppo import Agent, Model

from .algorithm import Algorithm, Config, Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
