"""Policy lag: how many newer policies there are than the one that acted."""

from collections.abc import Mapping
from typing import Any

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
