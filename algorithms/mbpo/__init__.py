"""Model-based policy optimization (Janner et al. 2019, arXiv:1906.08253)."""

from yieldrl.algorithms.sac import Agent, Model

from .algorithm import Algorithm, Config, Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
