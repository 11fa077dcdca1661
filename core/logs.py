"""`LogData`, which every step of a training loop yields, and the counters in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypedDict

from yieldrl.core.files import saved_count

Logs = dict[str, Any]
"""Metric name -> a number, or a detached 0-dim tensor, read when a logger writes it."""

LogType = Literal["collect", "train", "evaluate"]


class LogData(TypedDict):
    """The log that every step of a trainer yields."""

    log_type: LogType  # kind of step
    sample_step: int  # environment steps so far, over all environments
    learn_step: int  # gradient steps so far
    logs: Logs  # `episode_return` and `episode_length` among them


@dataclass(slots=True)
class Counters:
    """Counters that an algorithm shares with its agent."""

    sample_step: int = 0  # environment steps so far, over all environments
    learn_step: int = 0  # gradient steps so far
    sync_step: int = 0  # gradient steps when the target was last synced
    policy_version: int = 0  # rises whenever the weights that act may have changed
    acted_version: int | None = None  # of the first action that was not learned from
    learns_since: int = 0  # what an older policy did is not learned from

    def restore(self, state: Mapping[str, Any]) -> None:
        """Set all counters, by their names; CheckpointError if one is no count."""
        for name in asdict(self):
            unknown = name == "acted_version" and state[name] is None
            setattr(self, name, None if unknown else saved_count(state, name))
