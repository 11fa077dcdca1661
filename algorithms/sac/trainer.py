"""The schedule of SAC."""

from yieldrl.algorithms.off_policy import OffPolicyTrainer

from .agent import Agent
from .algorithm import Algorithm
from .config import Config
from .model import Model


class Trainer(OffPolicyTrainer):
    """After each step into the replay buffer, learn from it."""

    config: Config
    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
    agent_class = Agent
