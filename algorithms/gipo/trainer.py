"""The schedule of GIPO is that of asynchronous PPO."""

from yieldrl.algorithms import appo

from .algorithm import Algorithm
from .config import Config


class Trainer(appo.Trainer):
    """PPO's, beside a collector in the background."""

    config: Config
    config_class = Config
    algorithm_class = Algorithm
