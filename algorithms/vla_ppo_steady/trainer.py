"""The schedule of vla_ppo_steady is that of vla_ppo."""

from yieldrl.algorithms import vla_ppo

from .algorithm import Algorithm
from .config import Config


class Trainer(vla_ppo.Trainer):
    """vla_ppo's, with steadier steps."""

    config: Config
    config_class = Config
    algorithm_class = Algorithm
