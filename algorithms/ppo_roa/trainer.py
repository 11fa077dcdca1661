"""The schedule of PPO-ROA is that of PPO; rollouts move from phase to phase."""

from yieldrl.algorithms import ppo
from yieldrl.on_policy import PhasedTrainer

from .agent import Agent
from .algorithm import Algorithm
from .config import Config
from .model import Model


class Trainer(PhasedTrainer, ppo.Trainer):
    """PPO's, and after it, on each rollout, adaptation.

    The `phase` in the logs is 0 for train, 1 for adapt, 2 for finetune.
    """

    config: Config
    agent: Agent
    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
    agent_class = Agent
