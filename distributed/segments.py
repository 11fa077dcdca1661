"""Segments of rollout workers: requested, joined, and collected again after deaths."""

import logging
import statistics
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from yieldrl.collectors.distributed_statistics import mean_episode
from yieldrl.collectors.policy_lag import PolicyLag
from yieldrl.collectors.segments import Segment
from yieldrl.core import defer_keyboard_interrupt
from yieldrl.distributed.actors import (
    WAIT_SECONDS,
    Call,
    DeadWorkerError,
    WorkerError,
)
from yieldrl.distributed.pool import WorkerPool
from yieldrl.distributed.weights import WeightStore
from yieldrl.envs.arrays import as_tensors, tree_map

log = logging.getLogger("yieldrl.distributed")

SLOW_FACTOR = 5.0
"""Factor over the median of the others from which a worker is slow."""

SLOW_SEGMENTS = 3
"""Number of consecutive segments in which a worker must be slow for a warning."""

SLOW_SECONDS = 0.1
"""Segments that take less time are ignored."""


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

    def __init__(self, pool: WorkerPool, agent: Any, *, in_actor: bool) -> None:
        self.pool, self.agent, self.ray = pool, agent, pool.cluster.ray
        self.started, self.lost, self.dropped = False, 0, 0
        self.lag = PolicyLag(agent.policy_version)
        self._weights = WeightStore(pool.cluster, agent.model)
        self._slow = SlowWorkers(pool.count)
        self._join: Any = None
        if in_actor:
            self._join = self.ray.remote(num_cpus=0)(join_segments)
        self._requests: deque[Request] = deque()
        self._broken = False  # a worker restarted since the last segment
        self._metrics: list[dict[str, float]] = []  # since the last report
        pool.on_restart = self._note_restart

    def __len__(self) -> int:
        return len(self._requests)

    @property
    def num_rows(self) -> int:
        """Rows of all segments that were asked for."""
        return sum(request.num_rows for request in self._requests)

    @property
    def all_arrived(self) -> bool:
        """Whether workers wait, because all that was asked for has arrived."""
        calls = [call for request in self._unanswered() for call in request.calls]
        if not calls:
            return True
        answers = [call.answer for call in calls]
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
        self._metrics.append({} if part is None else part.inference)

    def reset(self) -> None:
        """Begin new episodes everywhere."""
        self.pool.ask_all("reset")

    def unreported(self) -> dict[str, float]:
        """Logs of episodes that ended and that no segment has reported."""
        return mean_episode(self.pool.ask_all("report")) if self.started else {}

    def report(self) -> dict[str, float]:
        """Metrics: the lag since the last report, workers, waiting, lost segments."""
        metrics, self._metrics = [each for each in self._metrics if each], []
        names = metrics[0] if metrics else {}
        means = {name: statistics.fmean(x[name] for x in metrics) for name in names}
        counts = {"workers": self.pool.count, "segments_waiting": len(self)}
        lost = {"lost_segments": self.lost, "dropped_steps": self.dropped}
        counts |= {name: count for name, count in lost.items() if count}
        megabytes = {"weights_mb": self._weights.megabytes}
        return {**self.lag.report(), **means, **counts, **megabytes}

    def give_up(self) -> None:
        """Forget all requests."""
        self._requests.clear()

    def state_dict(self) -> dict[str, Any]:
        """Environments and agents of all workers, and the segments."""
        parts = [self._answered(request) for request in self._requests]
        return {
            "parts": [as_tensors(vars(part)) for part in parts],
            "workers": self.pool.ask_all("state_dict") if self.started else None,
            "inference": self.pool.inference.states() if self.started else None,
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
        version, sent = self.agent.policy_version, self._weights.version
        if request.older and sent is not None:
            version = sent
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
            self._slow.check(seconds)
            request.part.breaks = sorted(request.breaks.union(request.part.breaks))
        return request.part

    def _joined_elsewhere(self, request: Request) -> tuple[Segment, list[float]] | None:
        """The answers that another process has joined.

        None if this one has to ask the workers itself: one has failed, or lets all
        others wait, and only they tell which.
        """
        whole = request.whole
        if whole is None or not self.ray.wait([whole], timeout=WAIT_SECONDS)[0]:
            return None
        try:
            part, seconds = self.ray.get(whole)
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
                self.pool.replace(call)  # and ask it again, see `_note_restart`
            except WorkerError as error:
                with defer_keyboard_interrupt():
                    replaced = self.pool.inference.replace_dead(index, error)
                    count = self._ask_again(index)
                    if not replaced:
                        raise
                    self.lost += count

    def _note_restart(self, index: int) -> None:
        """Ask a worker that was started again for what was lost with the other."""
        count = self._ask_again(index)
        self.lost += count
        self._broken |= not count

    def _ask_again(self, index: int) -> int:
        """Ask a worker for all unfinished segments, by new episodes; their number."""
        unanswered = self._unanswered()
        if unanswered:
            unanswered[0].breaks.add(0)
            self.pool.ask(index, "reset")
        for request in unanswered:
            request.calls[index], request.whole = self._ask(index, request), None
        return len(unanswered)

    def _unanswered(self) -> list[Request]:
        return [request for request in self._requests if request.part is None]


class SlowWorkers:
    """Warns of a worker that is much slower than the others, as segments wait for all.

    Args:
        count: Number of workers; with one, there are no warnings.
    """

    def __init__(self, count: int) -> None:
        self._in_a_row = [0] * count

    def check(self, seconds: Sequence[float]) -> None:
        """Look at the seconds that each worker's part of a segment took."""
        for index, its in enumerate(seconds):
            others = [*seconds[:index], *seconds[index + 1 :]]
            usual = statistics.median(others) if others else its
            slow = its > max(SLOW_FACTOR * usual, SLOW_SECONDS)
            self._in_a_row[index] = self._in_a_row[index] + 1 if slow else 0
            if self._in_a_row[index] == SLOW_SEGMENTS:
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
    metrics = [part.inference for part in parts]
    means = {k: statistics.fmean(each[k] for each in metrics) for k in metrics[0]}
    version = min(part.version for part in parts)
    seconds = [part.seconds for part in parts]
    whole = Segment(rows, logs, sorted(breaks), version, max(seconds), means)
    return whole, seconds
