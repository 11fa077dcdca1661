"""The schedule of asynchronous PPO is that of PPO."""

from yieldrl.algorithms import ppo

from .algorithm import Algorithm
from .config import Config


class Trainer(ppo.Trainer):
    """PPO's, beside a collector in the background.

    >>> trainer = Trainer(Config(total_steps=1024, eval_every=0))
    >>> for log in trainer():
    ...     pass
    >>> log["log_type"], log["sample_step"], log["learn_step"]
    ('train', 1024, 32)
    """

    config: Config
    config_class = Config
    algorithm_class = Algorithm
