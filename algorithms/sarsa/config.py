"""Hyper-parameters of SARSA."""

from pydantic.dataclasses import dataclass

from yieldrl.algorithms import q_learning
from yieldrl.foundations import SyncOnly


@dataclass(frozen=True, kw_only=True)
class Config(SyncOnly, q_learning.Config):
    """SARSA with a table; it has Q-learning's hyper-parameters.

    The learner decides on the next action: nobody can act before it has learned.
    """
