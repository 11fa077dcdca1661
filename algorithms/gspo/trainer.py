"""The schedule of GSPO is that of GRPO."""

from yieldrl.algorithms import grpo

from .algorithm import Algorithm
from .config import Config


class Trainer(grpo.Trainer):
    """GRPO's, with one ratio for an answer."""

    config: Config
    config_class = Config
    algorithm_class = Algorithm
