"""The schedule of recurrent PPO is that of PPO."""

from yieldrl.algorithms import ppo

from .agent import Agent
from .algorithm import Algorithm
from .config import Config
from .model import Model


class Trainer(ppo.Trainer):
    """PPO's, with minibatches of whole sequences."""

    config: Config
    agent: Agent
    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
    agent_class = Agent
