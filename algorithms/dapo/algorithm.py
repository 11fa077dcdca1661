"""The mathematics of DAPO.

Yu et al. 2025, "DAPO: An Open-Source LLM Reinforcement Learning System at Scale",
arXiv:2503.14476, sections 3.1 to 3.3.
"""

from torch import Tensor

from yieldrl.algorithms import grpo

from .config import Config


class Algorithm(grpo.Algorithm):
    """GRPO with a clip that is wider upwards, and a mean in which all tokens are equal.

    An unlikely action reaches a symmetric clip before it has become likely, so entropy
    falls; a higher one leaves it room to grow. In the mean over tokens of all answers a
    long one weighs as much as its tokens.

    Differs from the paper: groups of equal returns are left out, as GRPO does here, and
    no others are played in their stead; too long answers have no penalty of their own.
    """

    config: Config

    def clipped(self, ratio: Tensor) -> Tensor:
        """Ratios from `1 - clip_coef` to `1 + clip_high`, equation 10."""
        return ratio.clamp(1 - self.config.clip_coef, 1 + self.config.clip_high)

    def mean(self, values: Tensor, mask: Tensor) -> Tensor:
        """The mean over the tokens of all episodes together, equation 12, 0-dim."""
        return (values * mask).sum() / mask.sum().clamp(min=1)
