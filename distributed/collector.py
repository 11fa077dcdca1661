"""The collector on Ray: segments of rollout workers, joined, and asked for again."""

import logging
import statistics
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from yieldrl.collectors import segments
from yieldrl.collectors.segments import Segment, SegmentCollector, Segments
from yieldrl.collectors.statistics import mean_episode
from yieldrl.core import defer_keyboard_interrupt
from yieldrl.distributed.actors import (
    WAIT_SECONDS,
    Call,
    DeadWorkerError,
    WorkerError,
)
from yieldrl.distributed.recipes import Recipe
from yieldrl.distributed.weights import Store, Stored
from yieldrl.distributed.workers import WorkerPool
from yieldrl.envs.arrays import tree_map

log = logging.getLogger("yieldrl.distributed")


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
        **options: Any,
    ) -> None:
        envs.pool.inference.check(agent)
        waiting: Segments = WorkerSegments(envs.pool, agent, in_actor=in_actor)
        if not wait_for_all:
            waiting = FirstSegments(envs.pool, agent, options["max_policy_lag"])
        super().__init__(envs, agent, buffer, waiting, **options)

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


@dataclass
class Request(segments.Request):
    """A segment that all workers were asked for."""

    older: bool = False  # act with the policy handed over last, even if one is newer
    calls: list[Call] = field(default_factory=list)  # of each worker
    joined: Any = None  # the future answer of a process that joins all answers


class WorkerSegments(Segments):
    """Asks workers for segments, each by the newest policy, and joins them.

    Args:
        pool: The workers.
        agent: The agent that learns.
        in_actor: Whether another process joins the workers' segments, so that this one
            fetches one object for each, however many workers there are.

    Attributes:
        lost: Number of segments lost with a dead worker and collected again.
    """

    def __init__(self, pool: WorkerPool, agent: Any, *, in_actor: bool = False) -> None:
        super().__init__(agent)
        self.pool, self.ray, self.lost = pool, pool.cluster.ray, 0
        self._join = self.ray.remote(num_cpus=0)(join_segments) if in_actor else None
        self._metrics: list[dict[str, float]] = []  # since the last report
        self._runs = 0  # how often workers were given an agent

    @property
    def all_arrived(self) -> bool:
        calls = [call for request in self._unanswered() for call in request.calls]
        if not calls:
            return True
        answers = [call.answer for call in calls]
        ready, _ = self.ray.wait(answers, num_returns=len(answers), timeout=0)
        return len(ready) == len(answers)

    def start(self, seed: int) -> None:
        recipe = Recipe.of_agent(self.agent, self.pool.config)
        model, self._runs = self.agent.model, self._runs + 1
        self._store = Store(self.pool.cluster, model, recipe, self._runs, seed)
        self.started = True

    def ask(self, num_rows: int, sample_step: int, *, older: bool = False) -> None:
        request = Request(num_rows, sample_step, older=older)
        with defer_keyboard_interrupt():  # requests must be completed
            request.calls = [self._ask(i, request) for i in range(self.pool.count)]
            if self._join is not None:
                answers = [call.answer for call in request.calls]
                request.joined = self._join.remote(*answers)
            self.requests.append(request)

    def first(self) -> Segment:
        return self._answered(self.requests[0])

    def remove_first(self) -> None:
        part = self.requests[0].segment
        super().remove_first()
        self._metrics += [part.metrics] if part and part.metrics else []

    def reset(self) -> None:
        self.pool.ask_all("reset")

    def unreported(self) -> dict[str, float]:
        return mean_episode(self.pool.ask_all("report"))

    def report(self) -> dict[str, float]:
        """Metrics: the lag since the last report, workers, waiting, lost segments."""
        metrics, self._metrics = mean_metrics(self._metrics), []
        return {
            **super().report(),
            **metrics,
            "workers": self.pool.count,
            "segments_waiting": len(self),
            **({"lost_segments": self.lost} if self.lost else {}),
            "weights_mb": self._store.megabytes if self.started else 0.0,
        }

    def state_dict(self) -> dict[str, Any]:
        """Environments and agents of all workers, and the segments."""
        self._finish()
        state = {**super().state_dict(), "lost": self.lost, "workers": None}
        if self.started:
            pools = {"workers": self.pool, "inference": self.pool.inference}
            for name, pool in pools.items():
                sent = [(self._sent(index),) for index in range(pool.count)]
                state[name] = pool.ask_each("state_dict", sent)
        return state

    def load_state_dict(self, state: Mapping[str, Any], seed: int) -> None:
        """Restore what `state_dict` returned."""
        super().load_state_dict(state, seed)
        self.lost = state["lost"]
        if state["workers"] is not None:
            self.start(seed)
            pools = {"workers": self.pool, "inference": self.pool.inference}
            for name, pool in pools.items():
                saved = enumerate(state[name])
                restored = [(self._sent(index), each) for index, each in saved]
                pool.ask_each("load_state_dict", restored)

    def _finish(self) -> None:
        """Wait for all segments that were asked for."""
        for request in self.requests:
            self._answered(request)

    def _sent(self, index: int, *, older: bool = False) -> Stored:
        """What a worker acts with: the agent, or an inference actor that has it."""
        version, stored = self.agent.policy_version, self._store.stored
        if older and stored is not None:
            version = stored.version
        if version != self.lag.newest:
            self.lag.publish(version)
        sent = self._store.put(version)
        return replace(sent, actor=self.pool.inference.actor_of(index))

    def _ask(self, index: int, request: Request, *, reset: bool = False) -> Call:
        """Ask one worker, with the agent to act with."""
        sent = self._sent(index, older=request.older)
        rows = request.num_rows, request.sample_step
        rest = reset, self.pool.stats.actors[0], self.unread
        return self.pool.ask(index, "collect", *rows, sent, *rest)

    def _answered(self, request: Request) -> Segment:
        """The answers of all workers, as one segment `[T, N]`."""
        if request.segment is None:
            request.segment = self._joined_elsewhere(request)
        if request.segment is None:
            request.segment = join_segments(*self._parts(request))
        return request.segment

    def _joined_elsewhere(self, request: Request) -> Segment | None:
        """The answers that another process has joined.

        None if this one has to ask the workers itself: one has failed, or lets all
        others wait, and only they tell which.
        """
        if request.joined is None:
            return None
        try:
            segment = self.ray.get(request.joined, timeout=WAIT_SECONDS)
        except self.ray.exceptions.RayError:
            return None
        for index in range(self.pool.count):
            self.pool.did_work(index)
        segment.rows = tree_map(np.array, segment.rows)  # Ray's arrays are read-only
        return segment

    def _parts(self, request: Request) -> list[Segment]:
        """The answers of workers, or of their replacements if they have died."""
        parts: list[Segment] = []
        while (index := len(parts)) < self.pool.count:
            part = self._answer(request.calls[index])
            parts += [] if part is None else [part]
        return parts

    def _answer(self, call: Call) -> Segment | None:
        """The answer of a worker; None if it is lost, and the worker is asked again."""
        index = call.index
        try:
            return self.pool.get(call)
        except DeadWorkerError as error:
            self.pool.replace(index, call.actor, error)
            self._store.stored = None  # what is lost may be the weights
            self._ask_again(index, lost=True)
        except WorkerError as error:
            with defer_keyboard_interrupt():
                asked = call.args[2].actor
                replaced = self.pool.inference.replace_dead(index, asked, error)
                self._ask_again(index, lost=replaced)
            if not replaced:
                raise
        return None

    def _ask_again(self, index: int, *, lost: bool) -> None:
        """Ask a worker for all unfinished segments, by new episodes; count the lost."""
        unanswered = self._unanswered()
        self.lost += lost * len(unanswered)
        for number, request in enumerate(unanswered):
            request.calls[index] = self._ask(index, request, reset=number == 0)
            request.joined = None

    def _unanswered(self) -> list[Request]:
        return [request for request in self.requests if request.segment is None]


class FirstSegments(WorkerSegments):
    """Segments of the parts that arrive first, of whichever workers.

    Each worker collects all the time, by the policy that was the newest when it began.
    A segment has as many parts as there are workers: two of a fast one, and none of a
    slow or a dead one, unless its part would be too old for the next segment. A part
    lies where the environments of its worker do, or in place of a missing one; if not
    each worker gave one, and in the segment before too, episodes count as cut.

    Espeholt et al. 2018, "IMPALA", arXiv:1802.01561. Differs from the paper: a part
    that would become too old is waited for.

    Args:
        pool: The workers.
        agent: The agent that learns.
        max_policy_lag: The largest lag of a part, at least 1.
    """

    def __init__(self, pool: WorkerPool, agent: Any, max_policy_lag: int) -> None:
        super().__init__(pool, agent)
        self.max_policy_lag = max_policy_lag
        self._calls: dict[int, Call] = {}  # by worker, of the part that it collects
        self._taken: list[tuple[int, Segment]] = []  # workers and their parts
        self._complete = False  # whether the segment before had a part of each worker

    def ask(self, num_rows: int, sample_step: int, *, older: bool = False) -> None:
        self.requests.append(Request(num_rows, sample_step, older=older))
        self._ask_idle()

    def give_up(self) -> None:
        super().give_up()
        self._calls, self._taken, self._complete = {}, [], False

    def _finish(self) -> None:
        """Wait for one part of each worker, and let them rest."""
        if self.requests and self.requests[0].segment is None:
            self._join_first(self.requests[0], rest=True)

    def _answered(self, request: Request) -> Segment:
        if request.segment is None:
            self._join_first(request)
        assert request.segment is not None
        return request.segment

    def _join_first(self, request: Request, *, rest: bool = False) -> None:
        """Make the next segment; its workers collect the one after it, or rest."""
        count, rows = self.pool.count, request.num_rows
        while len(self._taken) < count:
            if not rest or not self._calls:
                self._ask_idle()
            for index in self._arrived(count - len(self._taken)):
                part = self._answer(self._calls[index])
                with defer_keyboard_interrupt():
                    if part is None:  # it is asked again
                        continue
                    del self._calls[index]
                    if len(part.logs) == rows:
                        self._taken.append((index, part))
                    else:  # asked for when segments had another length
                        self.dropped += len(part.logs) * self.pool.config.num_envs
                        self._complete = False
        places = dict(reversed(self._taken))  # the first part of each worker
        more = [part for index, part in self._taken if part is not places[index]]
        complete = not more
        parts = [places[i] if i in places else more.pop(0) for i in range(count)]
        segment = join_segments(*parts)
        if not (complete and self._complete):
            segment.breaks = sorted({0, *segment.breaks})
        with defer_keyboard_interrupt():
            request.segment, self._complete, self._taken = segment, complete, []
            if not rest:
                self._ask_idle()

    def _arrived(self, most: int) -> list[int]:
        """Workers whose parts are there and may be taken; waits for one, for a while.

        Args:
            most: Number of parts that the segment lacks.
        """
        old = {i for i, call in self._calls.items() if self._would_be_too_old(call)}
        rest = most - len(old)  # parts of workers that may as well come later
        calls = {x.answer: i for i, x in self._calls.items() if rest > 0 or i in old}
        ready, _ = self.ray.wait([*calls], num_returns=len(calls), timeout=0)
        if not ready:
            ready, _ = self.ray.wait([*calls], num_returns=1, timeout=WAIT_SECONDS)
        if not ready:
            names = ", ".join(str(index) for index in sorted(calls.values())[:10])
            said = "no answer for %g s of %d rollout workers: %s ..."
            log.warning(said, WAIT_SECONDS, len(calls), names)
        there = [calls[answer] for answer in ready]
        others = [index for index in there if index not in old]
        return [index for index in there if index in old] + others[:rest]

    def _would_be_too_old(self, call: Call) -> bool:
        """Whether a worker's part could not be in the segment after this one."""
        newer = self.lag.of(call.args[2].version)
        newer += self.agent.policy_version != self.lag.newest
        return newer >= self.max_policy_lag

    def _ask_idle(self) -> None:
        """Ask all workers that collect nothing."""
        with defer_keyboard_interrupt():
            for index in range(self.pool.count):
                if index not in self._calls:
                    self._calls[index] = self._ask(index, self.requests[-1])

    def _ask_again(self, index: int, *, lost: bool) -> None:
        """Ask a worker for a part by new episodes; count one that was lost."""
        self.lost += lost
        self._calls[index] = self._ask(index, self.requests[-1], reset=True)


def join_segments(*parts: Segment) -> Segment:
    """The segments of workers side by side, `[T, N]`, in memory of their own."""
    rows = tree_map(lambda *x: np.concatenate(x, axis=1), *(p.rows for p in parts))
    logs = parts[0].logs
    if len(parts) > 1:
        by_row = zip(*(part.logs for part in parts), strict=True)
        logs = [mean_episode(of_row) for of_row in by_row]
    breaks = set[int]().union(*(part.breaks for part in parts))
    version = min(part.version for part in parts)
    metrics = mean_metrics([part.metrics for part in parts])
    return Segment(rows, logs, sorted(breaks), version, metrics)


def mean_metrics(metrics: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Means of metrics, the same ones each time; none of none."""
    names = metrics[0] if metrics else {}
    return {name: statistics.fmean(each[name] for each in metrics) for name in names}
