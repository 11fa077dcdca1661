"""The schedule of SARSA: that of Q-learning."""

import torch
from tensordict import TensorDict

from yieldrl.abstractions import Logs
from yieldrl.algorithms import q_learning

from .agent import UNDECIDED, Agent
from .algorithm import Algorithm
from .config import Config


class Trainer(q_learning.Trainer):
    """Take a step, decide on the next action, learn from both."""

    config: Config
    agent: Agent
    config_class = Config
    algorithm_class = Algorithm
    agent_class = Agent

    def update(self, rollout: TensorDict) -> Logs:
        """Learn row by row; the next action is the one that was taken, if it is there.

        After the last row the agent decides on it, as in the loop.
        """
        action = rollout["action"]
        chosen = torch.cat([action[1:], torch.full_like(action[:1], UNDECIDED)])
        return super().update(rollout.copy().set("next_action", chosen))
