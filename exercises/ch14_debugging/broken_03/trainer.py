"""The schedule of PPO."""

from yieldrl.algorithms import ppo

from .algorithm import Algorithm


class Trainer(ppo.Trainer):
    """PPO's schedule around another algorithm."""

    algorithm_class = Algorithm
