"""PPO for vision-language-action policies, on real and on imagined rollouts."""

from yieldrl.algorithms.vla_ppo import Agent, Model

from .algorithm import Algorithm, Config, Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
