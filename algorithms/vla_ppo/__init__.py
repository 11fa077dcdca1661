"""PPO for vision-language-action policies, after cloning demonstrations."""

from yieldrl.algorithms.ppo import Agent

from .algorithm import Algorithm, Config, Model, Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
