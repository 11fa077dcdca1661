"""Hyper-parameters of DAPO."""

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from yieldrl.algorithms import grpo
from yieldrl.foundations import Count, Positive


@dataclass(frozen=True, kw_only=True)
class Config(grpo.Config):
    """GRPO with two clips and dynamic sampling; the defaults write sums, as GRPO's."""

    clip_high: Positive = 0.28
    """How far the probability ratio may rise above 1, where `clip_coef` says how far it
    may fall below. Higher lets unlikely actions become likely sooner."""

    batch_episodes: Annotated[int, Field(ge=1, le=2**20)] | None = None
    """Episodes of groups whose returns differ that there must be before learning
    begins: until then rollouts are collected by one policy. By default as many as
    environments. More give updates with less noise, and fewer of them."""

    max_rollouts: Count = 8
    """Rollouts after which learning begins with what there is. 1 is one rollout for
    each update, as GRPO has it; more wait longer where few groups differ."""
