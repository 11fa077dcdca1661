"""The schedule of C51: that of DQN."""

from yieldrl.algorithms import dqn

from .algorithm import Algorithm
from .config import Config
from .model import Model


class Trainer(dqn.Trainer):
    """DQN's schedule around distributions of returns."""

    config: Config
    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
