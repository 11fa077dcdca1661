"""Join segments in an actor, so that the program fetches one for all workers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from yieldrl.distributed.answers import WAIT_SECONDS
from yieldrl.distributed.lives import Lives
from yieldrl.distributed.pool import WorkerPool
from yieldrl.distributed.replay_actor import ReplayBufferActor
from yieldrl.distributed.worker import Segment
from yieldrl.envs.batched.tree import tree_map


class Joining:
    """Joins the segments of rollout workers in a `ReplayBufferActor`.

    They go there from the workers; the program fetches one object for each segment,
    however many workers there are. An actor that dies is started again.

    Args:
        pool: The workers.
    """

    def __init__(self, pool: WorkerPool) -> None:
        self._pool, self._cluster = pool, pool.cluster
        self.lives = Lives("replay actor", 1, "a joined segment")
        self.actor = pool.cluster.actor(ReplayBufferActor)

    def ask(self, answers: Sequence[Any]) -> Any:
        """Request the segment that joins the workers' `answers`."""
        return self.actor.joined.remote(*answers)

    def get(self, asked: Any) -> tuple[Segment, list[float]] | None:
        """A segment `[T, N]`, and the seconds that each worker took for it.

        None if the program has to ask the workers itself: one has failed, or lets
        all others wait, and only they tell which; or the actor has died; or it was not
        asked, with `asked` None.

        Raises:
            WorkerError: If it died too often in a row.
        """
        ray = self._cluster.ray
        if asked is None or not ray.wait([asked], timeout=WAIT_SECONDS)[0]:
            return None
        try:
            part, seconds = ray.get(asked)
        except ray.exceptions.RayError as error:
            if getattr(error, "actor_id", None) == self.actor._actor_id.hex():
                self._restart()
            return None
        self.lives.did_work(0)
        for index in range(self._pool.count):
            self._pool.did_work(index)
        part.rows = tree_map(np.array, part.rows)  # Ray's arrays are read-only
        return part, seconds

    def _restart(self) -> None:
        self.lives.begin(0)
        self._cluster.kill(self.actor)
        self.actor = self._cluster.actor(ReplayBufferActor)
