"""The collector on Ray: it hands over the steps of rollout workers, one by one."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Literal

from tensordict import TensorDict

from yieldrl.collectors.distributed_statistics import mean_episode
from yieldrl.collectors.protocols import Collector
from yieldrl.collectors.sync import collect
from yieldrl.core import defer_keyboard_interrupt
from yieldrl.distributed.segments import Segments, saved_segment
from yieldrl.distributed.worker import Segment
from yieldrl.envs.arrays import as_tensors, tree_map


class RayCollector(Collector):
    """Steps environments in rollout workers on Ray, each with a copy of the policy.

    Workers collect segments, of as many rows as the learner takes before it learns
    again. A segment is collected by one policy, the newest when it was asked for. With
    `max_policy_lag` 0 the next one is asked for when the learner has learned from the
    one before, which gives the data of a `SyncCollector`. With more, workers collect as
    many segments ahead.

    A worker that dies is started again; what it had not sent is collected again and
    counted as `lost_segments`, and its episodes count as truncated.

    Args:
        envs: Environments of a `WorkerPool`.
        agent: The agent that learns.
        buffer: The learner's buffer.
        seed: Seed of the environments' first reset.
        max_policy_lag: The largest lag of a transition: how many newer policies were
            handed over before it was.
        rows_ahead: Rows of the next segment, if so many rows are under way already.
        when_stale: What to do at that limit: `wait`, or `drop` the oldest segments and
            go on collecting.
        in_actor: Whether a replay actor joins the segments of workers.
    """

    def __init__(
        self,
        envs: Any,
        agent: Any,
        buffer: Any,
        *,
        seed: int,
        max_policy_lag: int = 1,
        rows_ahead: Callable[[int], int] = lambda _: 1,
        when_stale: Literal["wait", "drop"] = "wait",
        in_actor: bool = False,
    ) -> None:
        self.envs, self.agent, self.buffer = envs, agent, buffer
        envs.pool.inference.check(agent)
        self.seed, self.rows_ahead = seed, rows_ahead
        self.max_policy_lag, self.drops = max_policy_lag, when_stale == "drop"
        self.logs: dict[str, Any] = {}
        self.segments = Segments(envs.pool, agent, in_actor=in_actor)
        self._segment: Segment | None = None  # being handed over
        self._row = 0  # the next row of the segment
        self._length: int | None = None  # rows per segment in `collect`
        self._gap = False  # the next segment starts new episodes

    def step(self) -> dict[str, Any]:
        """Hand over one step of all environments; logs of the episodes that ended.

        Raises:
            WorkerError: If an environment or the policy fails in a worker; the next
                call begins new episodes there.
        """
        if self._segment is None:
            self._receive()
        segment, row = self._segment, self._row
        assert segment is not None
        transition = tree_map(lambda x: x[row], segment.rows)
        # A step is handed over, added and counted, or not at all.
        with defer_keyboard_interrupt():
            if row in segment.breaks:
                self.buffer.end_episodes()
            self.buffer.add(transition)
            self.agent.count_steps(self.envs.num_envs)
            self._row += 1
            if self._row == len(segment.logs):
                self._segment = None
        self.segments.lag.add(segment.version)
        logs = segment.logs[row]
        if not (logs or getattr(self.buffer, "full", False)):
            return logs
        return {**logs, **self.segments.report()}

    def collect(self, num_steps: int, *, reset: bool = False) -> TensorDict:
        """Collect a rollout `[T, N]` for the caller instead of for the buffer.

        Meanwhile, and while the caller learns from it, workers collect `max_policy_lag`
        segments of this length ahead. With `reset` new episodes begin everywhere, and
        what was collected ahead is given up.
        """
        self.buffer.end_episodes()
        if reset:
            self.reset(None)
        self._length = num_steps
        try:
            return collect(self, num_steps, new_episodes=reset)
        finally:
            self._length = None

    def check(self) -> None:
        """With `drop`, discard the oldest segment so that workers need not wait."""
        waiting = self.segments
        if not (self.drops and waiting.started and waiting.all_arrived):
            return
        if len(waiting) > self.max_policy_lag:
            self._drop(waiting.next())
        self._ask(len(waiting) + 1, older=True)

    def report(self) -> dict[str, Any]:
        """Logs of episodes that ended and were not reported, and the lag."""
        segments = self.segments
        logs = segments.pool.ask_all("report") if segments.started else []
        return {**mean_episode(logs), **segments.report()}

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

    def reset(self, seed: int | None) -> None:
        """Begin new episodes everywhere; what was collected ahead is given up."""
        self.segments.give_up()
        self._segment = None
        if seed is not None:
            self.seed, self.segments.started = seed, False
        if self.segments.started:
            self.segments.pool.ask_all("reset")

    def state_dict(self) -> dict[str, Any]:
        """All workers' environments and agents, and the rows that wait."""
        now = None if self._segment is None else as_tensors(vars(self._segment))
        return {"segment": now, "row": self._row, **self.segments.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; without that, begin new episodes."""
        self.segments.give_up()
        self._segment = None
        if "workers" not in state:
            self.seed += self.agent.sample_step
            self.segments.started = False
            self.buffer.end_episodes()
            return
        self.segments.load_state_dict(state, self.seed)
        if state["segment"] is not None:
            self._segment, self._row = saved_segment(state["segment"]), state["row"]

    def _receive(self) -> None:
        """Take the next segment to hand over; ask for those after it."""
        if not self.segments.started:
            self.segments.start(self.seed)
        self._ask(1)
        part = self.segments.next()
        while self._stale(part):
            self._drop(part)
            self._ask(1)
            part = self.segments.next()
        if self._gap:
            self.buffer.end_episodes()
        self._segment, self._row, self._gap = part, 0, False
        self._ask(self.max_policy_lag + self.drops)

    def _stale(self, part: Segment) -> bool:
        """Whether to drop a segment: of another phase, or, with `drop`, too old."""
        if part.version < getattr(self.agent, "learns_since", 0):
            return True
        lag = self.segments.lag
        newer = lag.of(part.version) + (self.agent.policy_version != lag.newest)
        return self.drops and newer > self.max_policy_lag

    def _drop(self, part: Segment) -> None:
        self.segments.dropped += len(part.logs) * self.envs.num_envs
        self._gap = True

    def _ask(self, count: int, *, older: bool = False) -> None:
        """Ask for segments until `count` are under way."""
        while len(self.segments) < count:
            part = self._segment
            ahead = self.segments.num_rows + (len(part.logs) - self._row if part else 0)
            rows = self._length or max(1, self.rows_ahead(ahead))
            step = self.agent.sample_step + ahead * self.envs.num_envs
            self.segments.ask(rows, step, older=older)
