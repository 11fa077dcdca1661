"""Hyper-parameters of asynchronous PPO."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from yieldrl.algorithms import ppo


@dataclass(frozen=True, kw_only=True)
class Config(ppo.Config):
    """PPO beside a collector in the background, with V-trace; the defaults solve
    CartPole-v1 in 100 000 steps."""

    retired: ClassVar[Mapping[str, tuple[Any, str]]] = {
        **ppo.Config.retired,
        "correction": ("vtrace", "appo corrects by V-trace; for the clip take ppo"),
    }

    collection: Literal["sync", "async", "ray"] = "async"
    """`async` steps the environments in a background thread, with a copy of the policy,
    while the learner learns; `sync` does both in turn, as PPO does."""
