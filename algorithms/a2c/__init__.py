"""Advantage actor-critic (Mnih et al. 2016, arXiv:1602.01783)."""

from yieldrl.algorithms.ppo import Agent, Model

from .algorithm import Algorithm, Config, Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
