"""The schedule of asynchronous PPO is that of PPO."""

from yieldrl.algorithms import ppo

from .algorithm import Algorithm
from .config import Config


class Trainer(ppo.Trainer):
    """PPO's, beside a collector in the background."""

    config: Config
    config_class = Config
    algorithm_class = Algorithm
