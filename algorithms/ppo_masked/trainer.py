"""The schedule of PPO with action masks, which is PPO's."""

from yieldrl.algorithms import ppo

from .algorithm import Algorithm
from .config import Config
from .model import Model


class Trainer(ppo.Trainer):
    """PPO in environments that say which actions are possible.

    >>> trainer = Trainer(Config(total_steps=1024, eval_every=0))
    >>> for log in trainer():
    ...     pass
    >>> log["log_type"], log["sample_step"], log["learn_step"]
    ('train', 1024, 16)
    """

    config: Config
    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
