"""The mathematics of DAPO.

Yu et al. 2025, "DAPO: An Open-Source LLM Reinforcement Learning System at Scale",
arXiv:2503.14476, sections 3.1 and 3.3; 3.2 is the trainer's.
"""

from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms import grpo

from .config import Config


class Algorithm(grpo.Algorithm):
    """GRPO with a clip that is wider upwards, and a mean in which all tokens are equal.

    An unlikely action reaches a symmetric clip before it has become likely, so entropy
    falls; a higher one leaves it room to grow. In the mean over tokens of all answers a
    long one weighs as much as its tokens.

    Differs from the paper: a batch has all episodes of the rollouts that it took, also
    where they are more than enough; too long answers have no penalty of their own.
    """

    config: Config

    def clipped(self, ratio: Tensor) -> Tensor:
        """Ratios from `1 - clip_coef` to `1 + clip_high`, equation 10."""
        return ratio.clamp(1 - self.config.clip_coef, 1 + self.config.clip_high)

    def mean(self, values: Tensor, data: TensorDict) -> Tensor:
        """The mean over the tokens of all episodes together, equation 12, 0-dim."""
        return (values * data["mask"]).sum() / data["tokens"].sum()
