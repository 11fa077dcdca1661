"""The schedule of A2C."""

from yieldrl.algorithms.ppo import Model
from yieldrl.on_policy import OnPolicyTrainer

from .agent import Agent
from .algorithm import Algorithm
from .config import Config


class Trainer(OnPolicyTrainer):
    """A few steps in every environment, one gradient step on all of them, again."""

    config: Config
    agent: Agent
    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
    agent_class = Agent
