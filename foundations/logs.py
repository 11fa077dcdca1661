"""`LogData`, which every step of a training loop yields, and the counters in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from operator import attrgetter
from typing import Any, Literal, TypedDict

from yieldrl.foundations.ranks import ranks

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

    def restore(self, state: Mapping[str, Any]) -> None:
        """Set all counters, by their names."""
        for name in asdict(self):
            setattr(self, name, state[name])


def _shared(name: str) -> Any:
    def write(self: Counting, value: int) -> None:
        setattr(self.counters, name, value)

    return property(attrgetter(f"counters.{name}"), write)


class Counting:
    """Gives access to `counters` as attributes."""

    counters: Counters

    sample_step: int = _shared("sample_step")
    learn_step: int = _shared("learn_step")
    sync_step: int = _shared("sync_step")
    policy_version: int = _shared("policy_version")

    def count_steps(self, steps: int) -> None:
        """Count environment steps, times the number of ranks that train together."""
        self.counters.sample_step += steps * ranks().count

    def counters_state(self) -> dict[str, int]:
        """All counters by name."""
        return asdict(self.counters)

    def restore_counters(self, state: Mapping[str, Any]) -> None:
        """Restore the counters that `counters_state` returned."""
        self.counters.restore(state)
