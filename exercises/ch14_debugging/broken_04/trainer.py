"""The schedule of PPO."""

from yieldrl.algorithms import ppo

from .model import Model


class Trainer(ppo.Trainer):
    """PPO's schedule around other networks."""

    model_class = Model
