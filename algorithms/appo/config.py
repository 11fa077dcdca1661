"""Hyper-parameters of asynchronous PPO."""

from typing import Literal

from pydantic.dataclasses import dataclass

from yieldrl.algorithms import ppo


@dataclass(frozen=True, kw_only=True)
class Config(ppo.Config):
    """PPO beside a collector in the background, with V-trace; the defaults solve
    CartPole-v1 in 100 000 steps."""

    collection: Literal["sync", "async", "ray"] = "async"
    """`async` steps the environments in a background thread, with a copy of the policy,
    while the learner learns; `sync` does both in turn, as PPO does."""
