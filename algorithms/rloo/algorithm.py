"""The mathematics of RLOO.

Ahmadian et al. 2024, "Back to Basics: Revisiting REINFORCE-Style Optimization for
Learning from Human Feedback in LLMs", arXiv:2402.14740, equation 8; Kool et al. 2019,
"Buy 4 REINFORCE Samples, Get a Baseline for Free!".
"""

from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms import grpo
from yieldrl.functional import centred


class Algorithm(grpo.Algorithm):
    """GRPO that compares a return with the mean of the others in its group.

    A baseline that knows the return which it is subtracted from makes the gradient too
    small; this one leaves it unbiased, before the policy has moved and the ratio is
    clipped. Returns keep their unit.
    """

    def relative(self, returns: Tensor, counted: Tensor) -> Tensor:
        """`R_i - mean(R_j, j != i) = n / (n - 1) (R_i - mean(R))`, `[K, G]`."""
        n = counted.sum(1, keepdim=True)
        return centred(returns, counted) * n / (n - 1).clamp(min=1)

    def policy_loss(self, objective: Tensor, data: TensorDict) -> Tensor:
        """Minus the mean objective of all groups; where returns are equal it is 0."""
        return super().policy_loss(objective, data) * data["informative"].mean()


class Trainer(grpo.Trainer):
    """GRPO's, with a baseline of which the episode itself is no part."""

    algorithm_class = Algorithm
