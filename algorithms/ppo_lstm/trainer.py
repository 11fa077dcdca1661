"""The schedule of recurrent PPO is that of PPO."""

from yieldrl.algorithms import ppo

from .agent import Agent
from .algorithm import Algorithm
from .config import Config
from .model import Model


class Trainer(ppo.Trainer):
    """PPO's, with minibatches of whole sequences.

    >>> trainer = Trainer(Config(total_steps=4096, eval_every=0))
    >>> for log in trainer():
    ...     pass
    >>> log["log_type"], log["sample_step"], log["learn_step"]
    ('train', 4096, 32)
    """

    config: Config
    agent: Agent
    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
    agent_class = Agent
