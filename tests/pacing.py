"""A background that takes exactly as many steps as a test says."""

import time

SECONDS = 60  # after which a test that waits has failed


class Paced:
    """Lets the background of a trainer go on to a step and no further.

    Args:
        trainer: One with an asynchronous collector.
        allowed: How many steps of all environments it may have taken.
    """

    def __init__(self, trainer, allowed=10**9):
        self.background, self.allowed = trainer.collector.segments, allowed
        self.taken = 0  # steps that are there
        self._step = self.background._step
        self.background._step = self._paced

    @property
    def at_limit(self):
        """Whether the collector, left alone, would take no more."""
        return self.background.all_arrived

    def reach(self, count):
        """Wait until so many steps are there, and nothing else was asked for."""
        self._wait(lambda: self.taken >= count and self.at_limit)

    def go_on(self, steps):
        """Let it take so many more steps, or as many as were asked for."""
        self.allowed += steps
        self._wait(lambda: self.taken == self.allowed or self.at_limit)

    def settle(self):
        """Wait until all that was asked for is there."""
        self._wait(lambda: self.at_limit)

    def _paced(self, request):
        if self.taken < self.allowed:
            self._step(request)
            self.taken += 1
        else:
            time.sleep(1e-4)

    def _wait(self, until):
        began = time.monotonic()
        while not until() and self.background._error is None:
            assert time.monotonic() - began < SECONDS
            time.sleep(1e-4)
