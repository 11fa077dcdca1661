"""Segments of rollout workers on Ray, joined, and asked for again."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from yieldrl.collectors import segments
from yieldrl.collectors.segments import Segment, Segments
from yieldrl.collectors.statistics import mean_episode
from yieldrl.core import defer_keyboard_interrupt
from yieldrl.distributed.actors import (
    WAIT_SECONDS,
    Call,
    DeadWorkerError,
    WorkerError,
)
from yieldrl.distributed.recipes import Recipe
from yieldrl.distributed.references import fetch
from yieldrl.distributed.weights import Store, Stored
from yieldrl.distributed.workers import WorkerPool
from yieldrl.envs.arrays import tree_map


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
        tickets: Lets learners take observations; None if these come here.
        in_actor: Whether another process joins the workers' segments, so that this one
            fetches one object for each, however many workers there are.

    Attributes:
        lost: Number of segments lost with a dead worker and collected again.
        whole: Whether `first` fetches observations; else learners take them.
    """

    def __init__(
        self,
        pool: WorkerPool,
        agent: Any,
        tickets: Any = None,
        *,
        in_actor: bool = False,
    ) -> None:
        super().__init__(agent)
        self.tickets, self.whole = tickets, tickets is None
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

    def first(self, *, light: bool = False) -> Segment:
        request = self.requests[0]
        if light:
            return self._answered(request)
        return self._completed(request, whole=self.whole)

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

    def saved(self, segment: Segment) -> dict[str, Any]:
        rows = segment.rows if self.whole else self.tickets.fetched(segment.rows)
        return super().saved(replace(segment, rows=rows))

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
            self._completed(request, whole=True)

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
        pieces = 0
        if self.tickets is not None:
            pieces = self.tickets.pieces(self.pool.config.num_envs)
        rest = reset, self.pool.stats.actors[0], self.unread, pieces
        return self.pool.ask(index, "collect", *rows, sent, *rest)

    def _completed(self, request: Request, *, whole: bool) -> Segment:
        """A segment with its observations, or with tickets for them.

        What is lost of it is collected again.
        """
        while (segment := self._answered(request)).aside:
            lost = self._take_aside(segment, whole)
            if lost:
                request.segment = None
            for index in lost:
                self._replace(request.calls[index])
        return segment

    def _answered(self, request: Request) -> Segment:
        """The answers of all workers, as one segment `[T, N]`."""
        if request.segment is None:
            request.segment = self._joined_elsewhere(request)
        if request.segment is None:
            request.segment = join_segments(*self._parts(request))
        return request.segment

    def _take_aside(self, segment: Segment, whole: bool) -> set[int]:
        """Add observations, or tickets for them, to the rows of a joined segment.

        Returns the places of workers whose pieces are lost; then nothing is added.
        """
        num_rows, num_envs = segment.rows["reward"].shape
        if whole:
            added, lost = fetch(segment.aside)
        else:
            ticket, lost = self.tickets.take(segment.aside, num_rows, num_envs)
            added = {"ticket": ticket}
        if not lost:
            segment.rows |= added
            segment.aside = []
            return lost
        return {place * self.pool.count // len(segment.aside) for place in lost}

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
            self._replace(call, error)
        except WorkerError as error:
            with defer_keyboard_interrupt():
                asked = call.args[2].actor
                replaced = self.pool.inference.replace_dead(index, asked, error)
                self._ask_again(index, lost=replaced)
            if not replaced:
                raise
        return None

    def _replace(self, call: Call, error: DeadWorkerError | None = None) -> None:
        """Start a worker again with which a segment was lost; ask it again."""
        self.pool.replace(call.index, call.actor, error)
        self._store.stored = None  # what is lost may be the weights
        self._ask_again(call.index, lost=True)

    def _ask_again(self, index: int, *, lost: bool) -> None:
        """Ask a worker for all unfinished segments, by new episodes; count the lost."""
        unanswered = self._unanswered()
        self.lost += lost * len(unanswered)
        for number, request in enumerate(unanswered):
            request.calls[index] = self._ask(index, request, reset=number == 0)
            request.joined = None

    def _unanswered(self) -> list[Request]:
        return [request for request in self.requests if request.segment is None]


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
    aside = [reference for part in parts for reference in part.aside]
    return Segment(rows, logs, sorted(breaks), version, metrics, aside)


def mean_metrics(metrics: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Means of metrics, the same ones each time; none of none."""
    names = metrics[0] if metrics else {}
    return {name: statistics.fmean(each[name] for each in metrics) for name in names}
