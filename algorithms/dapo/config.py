"""Hyper-parameters of DAPO."""

from dataclasses import dataclass

from yieldrl.algorithms import grpo
from yieldrl.foundations import Positive


@dataclass(frozen=True, kw_only=True)
class Config(grpo.Config):
    """GRPO with two clips; the defaults learn CartPole-v1 in 100 000 steps."""

    clip_high: Positive = 0.28
    """How far the probability ratio may rise above 1, where `clip_coef` says how far it
    may fall below. Higher lets unlikely actions become likely sooner."""
