"""The agent of recurrent PPO: it remembers the episodes that it is in."""

from yieldrl.algorithms import ppo
from yieldrl.on_policy import RememberingAgent

from .algorithm import Algorithm


class Agent(RememberingAgent, ppo.Agent):
    """PPO's, with a memory."""

    algorithm: Algorithm
