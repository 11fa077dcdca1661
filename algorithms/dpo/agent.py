"""The agent of DPO: explores by sampling from its policy."""

from yieldrl.algorithms import ppo


class Agent(ppo.Agent):
    """Samples the actions that are judged; nothing else need be remembered of them."""
