"""Chapter 18, policies that write."""

from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms import grpo


def compared(returns: Tensor, counted: Tensor) -> Tensor:
    """Advantages `[K, G]` of G answers to each of K prompts.

    Args:
        returns: What each answer earned, `[K, G]`.
        counted: Bool `[K, G]`. An answer that does not count, because it was cut
            before it ended, has no part in its group's mean, and the advantage 0.
    """
    # The first gap. Two lines: the mean of each group, over the answers that count,
    # and how much more than that each of them earned. Where none counts, divide by 1.
    # gap: begin with the mean of each group, [K, 1]
    size = counted.sum(1, keepdim=True).clamp(min=1)
    mean = (returns * counted).sum(1, keepdim=True) / size
    return (returns - mean) * counted
    # end


def by_a_constant(values: Tensor, mask: Tensor, longest: int) -> Tensor:
    """What each answer has a share of the objective, `[B]`.

    Args:
        values: What each token adds, `[B, T, K]`: T steps of K tokens. What stands
            after an answer's end is of no account.
        mask: Bool `[B, T, K]`, which tokens were written.
        longest: How many tokens an answer may have.

    GRPO divides by the number of tokens that an answer has. Here a token counts as much
    in a long answer as in a short one.
    """
    # The second gap. One line.
    # gap: add up the tokens that were written
    return (values * mask).sum((1, 2)) / longest
    # end


class Algorithm(grpo.Algorithm):
    """GRPO that compares and averages by the functions above."""

    def relative(self, returns: Tensor, counted: Tensor) -> Tensor:
        """The advantages `[K, G]` of groups."""
        return compared(returns, counted)

    def policy_loss(self, objective: Tensor, data: TensorDict) -> Tensor:
        """Minus the mean objective of all groups; where returns are equal it is 0."""
        return super().policy_loss(objective, data) * data["informative"].mean()

    def mean(self, values: Tensor, data: TensorDict) -> Tensor:
        """The mean over answers, 0-dim, of `[B, T, K]`."""
        longest = self.config.num_steps * values.shape[2]
        shares = by_a_constant(values, data["mask"], longest)
        return shares.sum() / data["episodes"].sum()
