"""The schedule of Dr. GRPO is that of GRPO."""

from yieldrl.algorithms import grpo

from .algorithm import Algorithm


class Trainer(grpo.Trainer):
    """GRPO's, without the two divisions that bias it."""

    algorithm_class = Algorithm
