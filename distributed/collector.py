"""The collector on Ray: segments of rollout workers, joined, and asked for again."""

import logging
import statistics
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from yieldrl.collectors.segments import PolicyLag, Segment, SegmentCollector
from yieldrl.collectors.statistics import mean_episode
from yieldrl.core import defer_keyboard_interrupt
from yieldrl.distributed.actors import (
    WAIT_SECONDS,
    Call,
    DeadWorkerError,
    WorkerError,
)
from yieldrl.distributed.weights import WeightStore
from yieldrl.distributed.workers import WorkerPool
from yieldrl.envs.arrays import as_tensors, tree_map

log = logging.getLogger("yieldrl.distributed")

SLOW_FACTOR, SLOW_SECONDS = 5.0, 0.1
"""A worker is slow from this factor over the median of the others, and seconds."""

SLOW_SEGMENTS = 3
"""Number of consecutive segments in which a worker must be slow for a warning."""


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


@dataclass
class Request:
    """A request for a segment to all workers."""

    num_rows: int
    sample_step: int  # environment steps of all workers before it
    calls: list[Call] = field(default_factory=list)  # of each worker
    older: bool = False  # act with the policy handed over last, even if one is newer
    breaks: set[int] = field(default_factory=set)  # rows before which episodes are cut
    whole: Any = None  # the future answer of a process that joins all answers
    part: Segment | None = None  # the joined answers, once all have arrived


class Segments:
    """Asks workers for segments, each by the newest policy, and joins them.

    Args:
        pool: The workers.
        agent: The agent that learns.
        in_actor: Whether another process joins the workers' segments, so that this one
            fetches one object for each, however many workers there are.

    Attributes:
        started: Whether workers have the agent.
        lag: Counts the policies that were handed over.
        lost: Number of segments lost with a dead worker and collected again.
        dropped: Number of environment steps that were too old to be learned from.
    """

    def __init__(self, pool: WorkerPool, agent: Any, *, in_actor: bool = False) -> None:
        self.pool, self.agent, self.ray = pool, agent, pool.cluster.ray
        self.started, self.lost, self.dropped = False, 0, 0
        self.lag = PolicyLag(agent.policy_version)
        self._weights = WeightStore(pool.cluster, agent.model)
        self._slow = [0] * pool.count  # segments in a row in which a worker was slow
        self._join = self.ray.remote(num_cpus=0)(join_segments) if in_actor else None
        self._requests: deque[Request] = deque()
        self._broken = False  # a worker restarted since the last segment
        self._metrics: list[dict[str, float]] = []  # since the last report
        pool.on_restart = self._ask_again

    def __len__(self) -> int:
        return len(self._requests)

    @property
    def num_rows(self) -> int:
        """Rows of all segments that were asked for."""
        return sum(request.num_rows for request in self._requests)

    @property
    def all_arrived(self) -> bool:
        """Whether workers wait, because all that was asked for has arrived."""
        unanswered = self._unanswered()
        answers = [call.answer for request in unanswered for call in request.calls]
        if not answers:
            return True
        ready, _ = self.ray.wait(answers, num_returns=len(answers), timeout=0)
        return len(ready) == len(answers)

    def start(self, seed: int, states: Any = None, acting: Any = None) -> None:
        """Give workers the current agent; begin episodes, or go on from states.

        The states of inference actors are `acting`.
        """
        self.pool.begin_acting(self.agent, seed, states, acting)
        self._weights = WeightStore(self.pool.cluster, self.agent.model)
        self.started = True

    def ask(self, num_rows: int, sample_step: int, *, older: bool = False) -> None:
        """Ask all workers for the next segment; by an `older` policy, see `Request`."""
        request = Request(num_rows, sample_step, older=older)
        if self._broken:
            request.breaks.add(0)
            self._broken = False
        with defer_keyboard_interrupt():  # requests must be completed
            request.calls = [self._ask(i, request) for i in range(self.pool.count)]
            if self._join is not None:
                answers = [call.answer for call in request.calls]
                request.whole = self._join.remote(*answers)
            self._requests.append(request)

    def first(self) -> Segment:
        """Wait for the oldest segment."""
        return self._answered(self._requests[0])

    def remove_first(self) -> None:
        """Forget the oldest segment, which was taken or dropped."""
        part = self._requests.popleft().part
        self._metrics += [part.inference] if part and part.inference else []

    def reset(self) -> None:
        """Begin new episodes everywhere."""
        self.pool.ask_all("reset")

    def unreported(self) -> dict[str, float]:
        """Logs of episodes that ended and that no segment has reported."""
        return mean_episode(self.pool.ask_all("report")) if self.started else {}

    def report(self) -> dict[str, float]:
        """Metrics: the lag since the last report, workers, waiting, lost segments."""
        metrics, self._metrics = mean_metrics(self._metrics), []
        lost = {"lost_segments": self.lost, "dropped_steps": self.dropped}
        return {
            **self.lag.report(),
            **metrics,
            "workers": self.pool.count,
            "segments_waiting": len(self),
            **{name: count for name, count in lost.items() if count},
            "weights_mb": self._weights.megabytes,
        }

    def give_up(self) -> None:
        """Forget all requests."""
        self._requests.clear()

    def state_dict(self) -> dict[str, Any]:
        """Environments and agents of all workers, and the segments."""
        parts = [self._answered(request) for request in self._requests]
        pool, started = self.pool, self.started
        return {
            "parts": [as_tensors(vars(part)) for part in parts],
            "workers": pool.ask_all("state_dict") if started else None,
            "inference": pool.inference.ask_all("state_dict") if started else None,
            "lag": self.lag.state_dict(),
            "lost": self.lost,
            "dropped": self.dropped,
        }

    def load_state_dict(self, state: Mapping[str, Any], seed: int) -> None:
        """Restore what `state_dict` returned."""
        self.lag.load_state_dict(state["lag"])
        self.lost, self.dropped = state["lost"], state["dropped"]
        if state["workers"] is not None:
            self.start(seed, state["workers"], state["inference"])
        parts = [Segment.saved(saved) for saved in state["parts"]]
        self._requests = deque(Request(len(p.logs), 0, part=p) for p in parts)

    def _ask(self, index: int, request: Request) -> Call:
        """Ask one worker, with the weights to act with."""
        version, sent = self.agent.policy_version, self._weights.stored
        if request.older and sent is not None:
            version = sent.version
        weights = self._weights.put(version)
        if version != self.lag.newest:
            self.lag.publish(version)
        rows = request.num_rows, request.sample_step
        inference = self.pool.inference.actor_of(index)
        return self.pool.ask(index, "collect", *rows, weights, inference)

    def _answered(self, request: Request) -> Segment:
        """The answers of all workers, as one segment `[T, N]`."""
        if request.part is None:
            answer = self._joined_elsewhere(request)
            if answer is None:
                parts = [self._answer(i, request) for i in range(self.pool.count)]
                answer = join_segments(*parts)
            request.part, seconds = answer
            self._warn_of_slow(seconds)
            request.part.breaks = sorted(request.breaks.union(request.part.breaks))
        return request.part

    def _joined_elsewhere(self, request: Request) -> tuple[Segment, list[float]] | None:
        """The answers that another process has joined.

        None if this one has to ask the workers itself: one has failed, or lets all
        others wait, and only they tell which.
        """
        if request.whole is None:
            return None
        try:
            part, seconds = self.ray.get(request.whole, timeout=WAIT_SECONDS)
        except self.ray.exceptions.RayError:
            return None
        for index in range(self.pool.count):
            self.pool.did_work(index)
        part.rows = tree_map(np.array, part.rows)  # Ray's arrays are read-only
        return part, seconds

    def _answer(self, index: int, request: Request) -> Segment:
        """The answer of one worker, or of its replacement if it has died."""
        while True:
            call = request.calls[index]
            try:
                return self.pool.get(call)
            except DeadWorkerError:
                self.pool.replace(index, call.actor)  # and `_ask_again`
            except WorkerError as error:
                with defer_keyboard_interrupt():
                    asked = call.args[-1]
                    replaced = self.pool.inference.replace_dead(index, asked, error)
                    self._ask_again(index, lost=replaced)
                if not replaced:
                    raise

    def _ask_again(self, index: int, *, lost: bool = True) -> None:
        """Ask a worker for all unfinished segments, by new episodes; count the lost."""
        unanswered = self._unanswered()
        self.lost += lost * len(unanswered)
        self._broken |= not unanswered
        if unanswered:
            unanswered[0].breaks.add(0)
            self.pool.ask(index, "reset")
        for request in unanswered:
            request.calls[index], request.whole = self._ask(index, request), None

    def _unanswered(self) -> list[Request]:
        return [request for request in self._requests if request.part is None]

    def _warn_of_slow(self, seconds: Sequence[float]) -> None:
        """Warn of a worker that is much slower than the others, as all wait for it."""
        for index, its in enumerate(seconds):
            others = [*seconds[:index], *seconds[index + 1 :]]
            usual = statistics.median(others) if others else its
            slow = its > max(SLOW_FACTOR * usual, SLOW_SECONDS)
            self._slow[index] = self._slow[index] + 1 if slow else 0
            if self._slow[index] == SLOW_SEGMENTS:
                log.warning(
                    "rollout worker %d takes %.1f s for a segment, the others %.1f s:"
                    " all wait for it; look at the machine that it runs on",
                    *(index, its, usual),
                )


def join_segments(*parts: Segment) -> tuple[Segment, list[float]]:
    """The segments of several workers side by side, `[T, N]`, in memory of their own;
    and the seconds of each."""
    rows = tree_map(lambda *x: np.concatenate(x, axis=1), *(p.rows for p in parts))
    logs = parts[0].logs
    if len(parts) > 1:
        by_row = zip(*(part.logs for part in parts), strict=True)
        logs = [mean_episode(of_row) for of_row in by_row]
    breaks = set[int]().union(*(part.breaks for part in parts))
    version = min(part.version for part in parts)
    seconds = [part.seconds for part in parts]
    metrics = mean_metrics([part.inference for part in parts])
    return Segment(rows, logs, sorted(breaks), version, max(seconds), metrics), seconds


def mean_metrics(metrics: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Means of metrics, the same ones each time; none of none."""
    names = metrics[0] if metrics else {}
    return {name: statistics.fmean(each[name] for each in metrics) for name in names}
