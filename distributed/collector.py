"""The collector on Ray: it hands over the steps of rollout workers."""

from contextlib import suppress
from typing import Any

from tensordict import TensorDict

from yieldrl.collectors.segments import Segment, SegmentCollector, Segments
from yieldrl.distributed.actors import WorkerError
from yieldrl.distributed.first_segments import FirstSegments
from yieldrl.distributed.worker_segments import WorkerSegments


class RayCollector(SegmentCollector):
    """Steps environments in rollout workers on Ray, each with a copy of the policy.

    A worker that dies is started again; what it had not sent is collected again and
    counted as `lost_segments`, and its episodes count as truncated. Its `step` raises
    WorkerError if an environment or the policy fails in a worker; the next call begins
    new episodes there.

    Args:
        envs: Environments of a `WorkerPool`.
        agent: The agent that learns.
        buffer: The learner's buffer.
        in_actor: Whether a replay actor joins the segments of workers.
        wait_for_all: Whether each segment has steps of every worker; else it has those
            that arrive first.
        tickets: Lets learners take observations, if rows of `buffer` have none.
        options: The others of a `SegmentCollector`.
    """

    def __init__(
        self,
        envs: Any,
        agent: Any,
        buffer: Any,
        *,
        in_actor: bool = False,
        wait_for_all: bool = True,
        tickets: Any = None,
        **options: Any,
    ) -> None:
        envs.pool.inference.check(agent)
        self._tickets, pool = tickets, envs.pool
        waiting: Segments = WorkerSegments(pool, agent, tickets, in_actor=in_actor)
        if not wait_for_all:
            lag = options["max_policy_lag"]
            waiting = FirstSegments(pool, agent, tickets, max_policy_lag=lag)
        super().__init__(envs, agent, buffer, waiting, **options)

    def collect(self, num_steps: int, *, reset: bool = False) -> TensorDict:
        """Collect a rollout `[T, N]` for the caller: observations come here, too."""
        waiting: Any = self.segments
        waiting.whole = True
        try:
            return super().collect(num_steps, reset=reset)
        finally:
            waiting.whole = self._tickets is None

    def statistics(self, seconds: float = 10.0) -> dict[str, Any]:
        """Steps and episodes of each worker, and means over the latest episodes.

        Without those if the `StatsActor` does not answer for so many seconds. One that
        died is started again, and counts anew.
        """
        waiting: Any = self.segments
        pool = waiting.pool
        summary = {"lives": pool.lives, "lost_segments": waiting.lost}
        summary["stats_lives"] = pool.stats.lives
        if pool.inference.count:
            summary["inference_lives"] = pool.inference.lives
        with suppress(WorkerError, TimeoutError):
            summary |= pool.stats.result(pool.stats.ask(0, "summary"), seconds)
        return summary

    def _rows(self, segment: Segment) -> dict[str, Any]:
        """With tickets for the buffer, or with observations for a caller."""
        waiting: Any = self.segments
        if waiting.whole == ("ticket" in segment.rows):
            change = self._tickets.fetched if waiting.whole else self._tickets.given
            segment.rows = change(segment.rows)
        return segment.rows
