"""Hyper-parameters of GSPO."""

from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from yieldrl.algorithms import grpo


@dataclass(frozen=True, kw_only=True)
class Config(grpo.Config):
    """GRPO with the ratio of a whole answer; the defaults write sums, as GRPO's."""

    ratio_level: ClassVar[Literal["sequence"]] = "sequence"

    clip_coef: float = 0.01
    """How far the geometric mean of an answer's ratios may move from 1 before the
    objective stops to improve. It moves far less than those of single tokens; higher
    changes the policy more per rollout."""
