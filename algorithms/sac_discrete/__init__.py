"""Soft actor-critic for discrete actions (Christodoulou 2019, arXiv:1910.07207)."""

from .algorithm import Agent, Algorithm, Config, Model, Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
