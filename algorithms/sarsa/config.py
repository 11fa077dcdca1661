"""Hyper-parameters of SARSA."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from yieldrl.algorithms import q_learning


@dataclass(frozen=True, kw_only=True)
class Config(q_learning.Config):
    """SARSA with a table; it has Q-learning's hyper-parameters."""

    # The learner decides on the next action: nobody can act before it has learned.
    collection: ClassVar[Literal["sync"]] = "sync"
    max_policy_lag: ClassVar[int] = 0
    when_stale: ClassVar[Literal["wait"]] = "wait"
    rollout_workers: ClassVar[int] = 1
    ray_address: ClassVar[str] = ""
