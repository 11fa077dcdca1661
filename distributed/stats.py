"""Statistics of the episodes of all workers, in an actor of their own."""

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import Any

WINDOW = 100
"""Of how many of the latest episodes means are taken."""


class StatsActor:
    """Gathers the logs of episodes that ended anywhere, and says how it goes.

    Args:
        window: Of how many of the latest reports means are taken.
    """

    def __init__(self, window: int = WINDOW) -> None:
        self._reports: deque[Mapping[str, float]] = deque(maxlen=window)
        self._episodes: defaultdict[int, float] = defaultdict(float)
        self._steps: defaultdict[int, int] = defaultdict(int)

    def add(self, worker: int, steps: int, logs: Sequence[Mapping[str, float]]) -> None:
        """Add what a worker has done: environment steps, and logs of ended episodes."""
        self._steps[worker] += steps
        for log in logs:
            if "episodes" in log:
                self._reports.append(log)
                self._episodes[worker] += log["episodes"]

    def summary(self) -> dict[str, Any]:
        """Steps and episodes by worker, and means over the latest episodes."""
        found: dict[str, Any] = {
            "steps": dict(self._steps),
            "episodes": dict(self._episodes),
        }
        count = sum(log["episodes"] for log in self._reports)
        for name in ("episode_return", "episode_length", "success_rate"):
            known = [log for log in self._reports if name in log]
            if known:
                total = sum(log["episodes"] for log in known)
                sums = sum(log["episodes"] * log[name] for log in known)
                found[name] = sums / total
        return {**found, "window": count}
