"""The schedule of PPO with action masks, which is PPO's."""

from yieldrl.algorithms import ppo

from .algorithm import Algorithm
from .config import Config
from .model import Model


class Trainer(ppo.Trainer):
    """PPO in environments that say which actions are possible."""

    config: Config
    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
