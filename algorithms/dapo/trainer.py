"""The schedule of DAPO is that of GRPO."""

from yieldrl.algorithms import grpo

from .algorithm import Algorithm
from .config import Config


class Trainer(grpo.Trainer):
    """GRPO's, with another clip and another mean."""

    config: Config
    config_class = Config
    algorithm_class = Algorithm
