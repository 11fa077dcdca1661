"""Gaussian importance sampling policy optimization (arXiv:2603.03955)."""

from yieldrl.algorithms.ppo import Agent, Model

from .algorithm import Algorithm, Config, Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
