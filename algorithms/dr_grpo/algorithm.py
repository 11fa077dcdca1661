"""The mathematics of Dr. GRPO.

Liu et al. 2025, "Understanding R1-Zero-Like Training: A Critical Perspective",
arXiv:2503.20783, section 3.
"""

from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms import grpo
from yieldrl.functional import centred


class Algorithm(grpo.Algorithm):
    """GRPO without its two divisions, which bias the gradient.

    By an answer's length: of wrong answers the long ones are made less unlikely. By the
    standard deviation: starts with nearly equal returns, too easy or too hard, weigh
    more.
    """

    def relative(self, returns: Tensor, counted: Tensor) -> Tensor:
        """`R - mean(R)` in each group, `[K, G]`."""
        return centred(returns, counted)

    def policy_loss(self, objective: Tensor, data: TensorDict) -> Tensor:
        """Minus the mean objective of all groups; where returns are equal it is 0."""
        return super().policy_loss(objective, data) * data["informative"].mean()

    def mean(self, values: Tensor, data: TensorDict) -> Tensor:
        """Sums over tokens by a constant, `num_steps * K`, and their mean, 0-dim."""
        longest = self.config.num_steps * values.shape[2]
        return (values * data["mask"]).sum() / longest / data["episodes"].sum()


class Trainer(grpo.Trainer):
    """GRPO's, without the two divisions that bias it."""

    algorithm_class = Algorithm
