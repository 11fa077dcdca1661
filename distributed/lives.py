"""Restarts of actors, and their limit."""

import logging

from yieldrl.distributed.answers import WorkerError

log = logging.getLogger("yieldrl.distributed")

MAX_LIVES = 5
"""Deaths of an actor, with no work done in between, that end the run."""


class Lives(list[int]):
    """Counts the restarts of each actor of a role.

    Args:
        role: Name of one of them in messages, such as `rollout worker`.
        count: How many there are.
        work: Description of work done, such as `a finished segment`.

    Attributes:
        in_a_row: How often each has died without having done any work.
    """

    def __init__(self, role: str, count: int, work: str) -> None:
        super().__init__([0] * count)
        self._role, self._work = role, work
        self.in_a_row = [0] * count

    def did_work(self, index: int) -> None:
        """Note that an actor has done work, which resets its deaths in a row."""
        self.in_a_row[index] = 0

    def begin(self, index: int) -> None:
        """Count the restart of an actor that has died.

        Raises:
            WorkerError: If it died `MAX_LIVES` times in a row.
        """
        self.in_a_row[index] += 1
        if self.in_a_row[index] > MAX_LIVES:
            raise WorkerError(
                f"{self._role} {index} died {MAX_LIVES} times in a row without"
                f" {self._work}: look for too little memory, or for an environment that"
                " ends its process"
            )
        log.warning("%s %d has died; it is started again", self._role, index)
        self[index] += 1
