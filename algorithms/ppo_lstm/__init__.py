"""Recurrent PPO: it remembers, with an LSTM (Ni et al. 2022, arXiv:2110.05038)."""

from .algorithm import Agent, Algorithm, Config, Model, Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
