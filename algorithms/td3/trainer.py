"""The trainer of TD3: DDPG's schedule around its classes."""

from yieldrl.algorithms import ddpg

from .algorithm import Algorithm
from .config import Config
from .model import Model


class Trainer(ddpg.Trainer):
    """After each step into the replay buffer, learn; the actor every other time."""

    config: Config
    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
