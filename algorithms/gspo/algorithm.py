"""The mathematics of GSPO.

Zheng et al. 2025, "Group Sequence Policy Optimization", arXiv:2507.18071, section 4.1.
"""

from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass
from torch import Tensor

from yieldrl.algorithms import grpo


@dataclass(frozen=True, kw_only=True)
class Config(grpo.Config):
    """GRPO with the ratio of a whole answer; the defaults write sums, as GRPO's."""

    ratio_level: ClassVar[Literal["sequence"]] = "sequence"

    clip_coef: float = 0.01
    """How far the geometric mean of an answer's ratios may move from 1 before the
    objective stops to improve. It moves far less than those of single tokens; higher
    changes the policy more per rollout."""


class Algorithm(grpo.Algorithm):
    """GRPO with the ratio of a whole answer, by the geometric mean of its tokens.

    The return is that of the answer, and so is the ratio that corrects for its having
    been drawn from an older policy. The mean keeps it in one range for all lengths.
    """

    def shared(self, log_ratio: Tensor, mask: Tensor) -> Tensor:
        """`1/|y| log(pi(y) / pi_old(y))`, equation 7, for all tokens `[B, T, K]`."""
        length = mask.sum((1, 2), keepdim=True).clamp(min=1)
        return (log_ratio.sum((1, 2), keepdim=True) / length).expand_as(log_ratio)


class Trainer(grpo.Trainer):
    """GRPO's, with one ratio for an answer."""

    config: Config
    config_class = Config
    algorithm_class = Algorithm
