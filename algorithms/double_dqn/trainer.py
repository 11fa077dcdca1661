"""The schedule of Double DQN: that of DQN."""

from yieldrl.algorithms import dqn

from .algorithm import Algorithm


class Trainer(dqn.Trainer):
    """DQN's schedule around Double DQN's mathematics."""

    algorithm_class = Algorithm
