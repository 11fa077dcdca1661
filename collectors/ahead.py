"""How far a collector in the background may be ahead of who reads, and how old."""

from __future__ import annotations

from typing import Any

from yieldrl.collectors.acting import Acting, Row
from yieldrl.collectors.lag import PolicyLag


class Ahead:
    """Says how many rows may be written, and which of them are too old by now.

    A loop reads segment after segment of the ring, `collect` as many rows as it is
    asked for; a policy is handed over for each of these.

    Args:
        agent: The agent that learns.
        acting: The side that writes.
        lag: Knows the policies that were handed over.
        most: How many of them may be newer than a row.
    """

    def __init__(self, agent: Any, acting: Acting, lag: PolicyLag, most: int) -> None:
        self.agent, self.acting, self.lag, self.most = agent, acting, lag, most
        self.ring = acting.ring
        self._until: int | None = None  # the row after a `collect` under way
        self._length = 0  # of that

    def begin(self, num_steps: int) -> None:
        """A `collect` of so many rows begins."""
        self._until, self._length = self.ring.next_row + num_steps, num_steps

    def end(self) -> None:
        """It has ended."""
        self._until = None

    @property
    def limit(self) -> int:
        """How many rows may be written, so that none becomes too old."""
        size = self.ring.num_steps
        if self._until is None:
            return (self.ring.next_row // size + 1 + self.most) * size
        return self._until + self.most * min(self._length, size)

    def stale(self, row: Row) -> bool:
        """Whether the next row is too old to be learned from.

        That is older than the limit, or than what the agent `learns_since`. Of a
        segment the first row decides.
        """
        if self._until is None and self.ring.next_row % self.ring.num_steps > 0:
            return False
        if row.version < getattr(self.agent, "learns_since", 0):
            return True
        limited = self.acting.drops or self._until is not None
        return limited and self.lag.of(row.version) > self.most

    def give_up(self, number: int) -> None:
        """Drop the next row, of this number, or for a loop its whole segment."""
        if self._until is None:
            self.ring.skip()
            return
        self.acting.rows.pop(number, None)
        self.ring.discard()
        self._until += 1
        if self.ring.used_up:
            self.ring.clear()

    def give_all_up(self) -> None:
        """Drop what was written, while nobody writes."""
        self.ring.clear()
        while self.ring.waiting > 0:
            self.ring.claim()
            self.ring.clear()
        self.acting.rows.clear()
