"""Asynchronous PPO with V-trace (Espeholt et al. 2018, arXiv:1802.01561)."""

from yieldrl.algorithms.ppo import Agent, Model

from .algorithm import Algorithm, Config, Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
