"""How old the policies were that collected what is learned from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_KEPT = 4096  # versions whose numbers are remembered


class PolicyLag:
    """Counts the policies that were handed over since a transition's.

    Args:
        version: The `policy_version` that acts first.

    Attributes:
        newest: The version that was handed over last.
    """

    def __init__(self, version: int) -> None:
        self.newest = version
        self._numbers = {version: 0}
        self._total = self._count = self._most = 0

    def publish(self, version: int) -> None:
        """Count another policy as handed over."""
        self._numbers[version] = self._numbers[self.newest] + 1
        self.newest = version
        if len(self._numbers) > _KEPT:
            del self._numbers[next(iter(self._numbers))]

    def of(self, version: int) -> int:
        """How many policies are newer."""
        newest = self._numbers[self.newest]
        return newest - self._numbers.get(version, 0)

    def add(self, version: int) -> None:
        """Note that a transition of this version is about to be learned from."""
        lag = self.of(version)
        self._total, self._count = self._total + lag, self._count + 1
        self._most = max(self._most, lag)

    def state_dict(self) -> dict[str, Any]:
        """The versions that are remembered, their numbers, and what is not reported."""
        return {
            "versions": list(self._numbers),
            "numbers": list(self._numbers.values()),
            "pending": [self._total, self._count, self._most],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        versions, numbers = state["versions"], state["numbers"]
        self._numbers = dict(zip(versions, numbers, strict=True))
        self.newest = versions[-1]
        self._total, self._count, self._most = state["pending"]

    def report(self) -> dict[str, float]:
        """Mean and maximum since the last report; nothing where there is nothing."""
        if self._count == 0:
            return {}
        mean, most = self._total / self._count, self._most
        self._total = self._count = self._most = 0
        return {"policy_lag": mean, "policy_lag_max": most}
