"""Policy lag: how many newer policies there are than the one that acted."""

from collections.abc import Mapping
from typing import Any

from yieldrl.collectors.acting import Acting, StepRecord

MAX_VERSIONS = 4096  # versions that are remembered


class PolicyLag:
    """Counts the policies handed over since that of a transition, from `version` on."""

    def __init__(self, version: int) -> None:
        self.newest = version  # the version handed over last
        self._numbers = {version: 0}
        self._total = self._count = self._max = 0

    def publish(self, version: int) -> None:
        """Count another policy as handed over."""
        self._numbers[version] = self._numbers[self.newest] + 1
        self.newest = version
        if len(self._numbers) > MAX_VERSIONS:
            del self._numbers[next(iter(self._numbers))]

    def of(self, version: int) -> int:
        """The lag of a version: how many policies are newer."""
        newest = self._numbers[self.newest]
        return newest - self._numbers.get(version, 0)

    def add(self, version: int) -> None:
        """Note that a transition of this version is about to be learned from."""
        lag = self.of(version)
        self._total, self._count = self._total + lag, self._count + 1
        self._max = max(self._max, lag)

    def state_dict(self) -> dict[str, Any]:
        """The versions that are remembered, their numbers, and what is not reported."""
        versions, numbers = list(self._numbers), list(self._numbers.values())
        pending = [self._total, self._count, self._max]
        return {"versions": versions, "numbers": numbers, "pending": pending}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        versions, numbers = state["versions"], state["numbers"]
        self._numbers = dict(zip(versions, numbers, strict=True))
        self.newest = versions[-1]
        self._total, self._count, self._max = state["pending"]

    def report(self) -> dict[str, float]:
        """Mean and maximum since the last report; empty if nothing was added."""
        if self._count == 0:
            return {}
        mean, largest = self._total / self._count, self._max
        self._total = self._count = self._max = 0
        return {"policy_lag": mean, "policy_lag_max": largest}


class LagLimit:
    """Limits how far a collector in the background runs ahead of the learner.

    A policy is handed over for each segment that a loop reads, or for each `collect`;
    at most `max_lag` of them may be newer than a row that is learned from.
    """

    def __init__(
        self, agent: Any, acting: Acting, lag: PolicyLag, max_lag: int
    ) -> None:
        self.agent, self.acting, self.lag, self.max_lag = agent, acting, lag, max_lag
        self.ring = acting.ring
        self._until: int | None = None  # the row after the current `collect`
        self._length = 0  # rows of that `collect`

    def begin(self, num_steps: int) -> None:
        """Begin a `collect` of so many rows."""
        self._until, self._length = self.ring.next_row + num_steps, num_steps

    def end(self) -> None:
        self._until = None

    @property
    def max_rows(self) -> int:
        """Rows that may be written before one would exceed the lag."""
        size = self.ring.num_steps
        if self._until is None:
            return (self.ring.next_row // size + 1 + self.max_lag) * size
        return self._until + self.max_lag * min(self._length, size)

    def stale(self, row: StepRecord) -> bool:
        """Whether the next row is too old; the first one decides for a segment."""
        if self._until is None and self.ring.next_row % self.ring.num_steps > 0:
            return False
        if row.version < getattr(self.agent, "learns_since", 0):
            return True
        limited = self.acting.drops or self._until is not None
        return limited and self.lag.of(row.version) > self.max_lag

    def drop(self, number: int) -> None:
        """Drop the next row, which has this number; in a loop, its whole segment."""
        if self._until is None:
            self.ring.skip()
            return
        self.acting.rows.pop(number, None)
        self.ring.discard()
        self._until += 1
        if self.ring.used_up:
            self.ring.clear()

    def drop_all(self) -> None:
        """Drop everything that was written, while the thread is stopped."""
        self.ring.clear()
        while self.ring.waiting > 0:
            self.ring.claim()
            self.ring.clear()
        self.acting.rows.clear()
