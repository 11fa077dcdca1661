"""Detection of slow workers, which make all others wait."""

import logging
import statistics
import time
from collections.abc import Sequence

log = logging.getLogger("yieldrl.distributed")

TIMES = 5.0
"""Factor over the median of the others from which a worker is slow."""

SEGMENTS = 3
"""Number of consecutive segments in which a worker must be slow for a warning."""

LEAST_SECONDS = 0.1
"""Segments that take less time are ignored."""

SAID_EVERY = 60.0
"""Seconds until the next warning of the same worker."""


class SlowWorkers:
    """Warns of a worker that is much slower than the others, as segments wait for all.

    Args:
        count: Number of workers; with one, there are no warnings.
    """

    def __init__(self, count: int) -> None:
        self._in_a_row = [0] * count
        self._said = [-SAID_EVERY] * count  # times of the latest warnings

    def look(self, seconds: Sequence[float]) -> list[int]:
        """Check the seconds of each worker's part of a segment; the workers warned of.

        >>> slow = SlowWorkers(3)
        >>> [slow.look([0.5, 9.0, 0.6]) for _ in range(4)]
        [[], [], [1], []]
        """
        said = []
        for index, own in enumerate(seconds):
            others = [*seconds[:index], *seconds[index + 1 :]]
            usual = statistics.median(others) if others else own
            slow = own > max(TIMES * usual, LEAST_SECONDS)
            self._in_a_row[index] = self._in_a_row[index] + 1 if slow else 0
            if self._in_a_row[index] >= SEGMENTS and self._due(index):
                said.append(index)
                log.warning(
                    "rollout worker %d takes %.1f s for a segment, the others %.1f s:"
                    " all wait for it; look at the machine that it runs on",
                    *(index, own, usual),
                )
        return said

    def _due(self, index: int) -> bool:
        now = time.monotonic()
        due = now - self._said[index] >= SAID_EVERY
        if due:
            self._said[index] = now
        return due
