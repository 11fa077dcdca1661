"""The schedule of DQN."""

from yieldrl.algorithms.off_policy import OffPolicyTrainer

from .agent import Agent
from .algorithm import Algorithm
from .config import Config
from .model import Model


class Trainer(OffPolicyTrainer):
    """Step the environments into the replay buffer; every so often learn from it.

    >>> trainer = Trainer(Config(total_steps=1200, eval_every=0))
    >>> for log in trainer():
    ...     pass
    >>> log["log_type"], log["sample_step"], log["learn_step"]
    ('train', 1200, 101)
    """

    config: Config
    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
    agent_class = Agent
