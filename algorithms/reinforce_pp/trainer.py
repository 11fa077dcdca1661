"""The schedule of REINFORCE++ is that of GRPO."""

from yieldrl.algorithms import grpo

from .algorithm import Algorithm


class Trainer(grpo.Trainer):
    """GRPO's, with one mean and standard deviation for all groups."""

    algorithm_class = Algorithm
