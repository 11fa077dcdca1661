"""The collector on Ray: it hands over the steps of rollout workers, one by one."""

from contextlib import suppress
from typing import Any

from yieldrl.collectors.segment_collector import SegmentCollector
from yieldrl.distributed.segments import Segments


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
        options: The others of a `SegmentCollector`.
    """

    def __init__(
        self,
        envs: Any,
        agent: Any,
        buffer: Any,
        *,
        in_actor: bool = False,
        **options: Any,
    ) -> None:
        envs.pool.inference.check(agent)
        segments = Segments(envs.pool, agent, in_actor=in_actor)
        super().__init__(envs, agent, buffer, segments, **options)

    def statistics(self, seconds: float = 10.0) -> dict[str, Any]:
        """Steps and episodes of each worker, and means over the latest episodes.

        Without those if the `StatsActor` does not answer for so many seconds.
        """
        pool = self.segments.pool
        ray, lost = pool.cluster.ray, self.segments.lost
        summary = {"lives": pool.lives, "lost_segments": lost}
        if pool.inference.count:
            summary["inference_lives"] = pool.inference.lives
        with suppress(ray.exceptions.RayError):
            summary |= ray.get(pool.stats.summary.remote(), timeout=seconds)
        return summary
