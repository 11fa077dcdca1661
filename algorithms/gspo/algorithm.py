"""The mathematics of GSPO.

Zheng et al. 2025, "Group Sequence Policy Optimization", arXiv:2507.18071, section 4.1.
"""

from torch import Tensor

from yieldrl.algorithms import grpo


class Algorithm(grpo.Algorithm):
    """GRPO with the ratio of a whole answer, by the geometric mean of its tokens.

    The return is that of the answer, and so is the ratio that corrects for its having
    been drawn from an older policy. The mean keeps it in one range for all lengths.
    """

    def shared(self, log_ratio: Tensor, mask: Tensor) -> Tensor:
        """`1/|y| log(pi(y) / pi_old(y))`, equation 7, for all tokens `[B, T, K]`."""
        length = mask.sum((1, 2), keepdim=True).clamp(min=1)
        return (log_ratio.sum((1, 2), keepdim=True) / length).expand_as(log_ratio)
