"""The mathematics of REINFORCE++.

Hu 2025, "REINFORCE++: A Simple and Efficient Approach for Aligning Large Language
Models", arXiv:2501.03262.
"""

from torch import Tensor

from yieldrl.algorithms import grpo
from yieldrl.core import mean_of_all


class Algorithm(grpo.Algorithm):
    """GRPO that compares a return with those of the whole rollout.

    The few returns of a group have a standard deviation that depends on each of them,
    and a group of small differences is blown up; that of all hardly does either. Starts
    that are easier than others look better here, which groups account for.

    Differs from the paper: the divergence from the reference is a term of the loss, as
    GRPO has it, and no part of the rewards; advantages are normalised before they are
    cut into minibatches.
    """

    def relative(self, returns: Tensor, counted: Tensor) -> Tensor:
        """`(R - mean(R)) / std(R)` over all groups, `[K, G]`, `std` of a population."""
        above = returns - mean_of_all(returns[counted])
        std = mean_of_all(above[counted].square()).sqrt()
        return (above / (std + 1e-6)).where(counted, 0.0)


class Trainer(grpo.Trainer):
    """GRPO's, with one mean and standard deviation for all groups."""

    algorithm_class = Algorithm
