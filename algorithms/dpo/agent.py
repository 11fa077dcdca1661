"""The agent of DPO: explores by sampling from its policy."""

from yieldrl.on_policy import SamplingAgent

from .algorithm import Algorithm


class Agent(SamplingAgent):
    """Samples the actions that are judged; nothing else need be remembered of them."""

    algorithm: Algorithm
