"""A background that takes exactly as many steps as a test says."""


class Paced:
    """Lets the background of a trainer go on to a step and no further.

    Args:
        trainer: One with an asynchronous collector.
        allowed: How many steps of all environments it may have taken.
    """

    def __init__(self, trainer, allowed=10**9):
        self.collector, self.allowed = trainer.collector, allowed
        self.background = self.collector._background
        self._ready = self.background._ready
        self.background._ready = lambda: self.taken < self.allowed and self._ready()

    @property
    def taken(self):
        """Steps that are there."""
        return self.collector._acting.finished

    @property
    def at_limit(self):
        """Whether the collector, left alone, would take no more."""
        return not self._ready()

    def reach(self, count):
        """Wait until so many steps are there."""
        self.background.wait(lambda: self.taken >= count)

    def go_on_to(self, count):
        """Let it go on to so many steps, and wait for them."""
        self.allowed = count
        self.background.notify()
        self.reach(count)

    def let_go(self):
        """Let it go on as it likes."""
        self.allowed = 10**9
        self.background.notify()
