"""The trainer of SAC for discrete actions: SAC's schedule around its classes."""

from yieldrl.algorithms import sac

from .agent import Agent
from .algorithm import Algorithm
from .config import Config
from .model import Model


class Trainer(sac.Trainer):
    """After each step into the replay buffer, learn."""

    config: Config
    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
    agent_class = Agent
