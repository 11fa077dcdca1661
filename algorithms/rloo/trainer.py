"""The schedule of RLOO is that of GRPO."""

from yieldrl.algorithms import grpo

from .algorithm import Algorithm


class Trainer(grpo.Trainer):
    """GRPO's, with a baseline of which the episode itself is no part."""

    algorithm_class = Algorithm
