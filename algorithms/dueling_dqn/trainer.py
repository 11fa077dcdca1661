"""The schedule of dueling DQN: that of DQN."""

from yieldrl.algorithms import dqn

from .model import Model


class Trainer(dqn.Trainer):
    """DQN's schedule around a dueling network."""

    model_class = Model
