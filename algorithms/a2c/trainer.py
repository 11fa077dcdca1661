"""The schedule of A2C."""

from yieldrl.algorithms import ppo

from .algorithm import Algorithm
from .config import Config


class Trainer(ppo.Trainer):
    """A few steps in every environment, one gradient step on all of them, again."""

    config: Config
    config_class = Config
    algorithm_class = Algorithm
