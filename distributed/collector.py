"""The collector on Ray: it hands over, step by step, what rollout workers collect."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from tensordict import TensorDict

from yieldrl.collectors.distributed_statistics import mean_episode
from yieldrl.collectors.policy_lag import PolicyLag
from yieldrl.collectors.protocols import Collector
from yieldrl.collectors.sync import collect
from yieldrl.distributed.pool import DeadWorkerError, WorkerError, WorkerPool
from yieldrl.distributed.weights import Signature, learned, packed
from yieldrl.distributed.worker import AgentRecipe, Part
from yieldrl.foundations import defer_keyboard_interrupt


@dataclass
class Request:
    """A segment that was asked for, of all workers.

    Attributes:
        num_rows: How many steps.
        sample_step: Environment steps of all workers before it.
        answers: What each worker will answer; None if it must be asked again.
        breaks: Rows before which episodes are given up, besides those of workers.
        part: The answers together, once they are there.
    """

    num_rows: int
    sample_step: int
    answers: list[Any]
    breaks: set[int] = field(default_factory=set)
    part: Part | None = None


class RayCollector(Collector):
    """Steps environments in rollout workers on Ray, each with a copy of the policy.

    Workers collect segments, of as many rows as the learner takes before it learns
    again. A segment is collected by one policy, the newest when it was asked for. With
    `max_policy_lag` 0 the next one is asked for when the learner has learned from the
    one before: then all is as with a `SyncCollector`. With more, workers collect as
    many segments ahead.

    A worker that dies is started again; what it had not sent is collected anew and
    counted as `lost_segments`, and its episodes count as truncated.

    Args:
        envs: Of a `WorkerPool`.
        agent: The agent that learns.
        buffer: The learner's buffer.
        seed: Seed of the environments' first reset.
        max_policy_lag: The largest lag of a transition: how many newer policies were
            handed over before it was.
        rows_ahead: Rows of the next segment, if so many rows are under way already.
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
    ) -> None:
        self.envs, self.agent, self.buffer = envs, agent, buffer
        self.seed, self.rows_ahead = seed, rows_ahead
        self.max_policy_lag = max_policy_lag
        self.pool: WorkerPool = envs.pool
        self.logs: dict[str, Any] = {}
        self.lost_segments = 0
        self._lag = PolicyLag(agent.policy_version)
        self._requests: deque[Request] = deque()
        self._segment: Part | None = None  # the one that is handed over
        self._row = 0  # of that, which comes next
        self._started = False
        self._sent: list[int | None] = []  # versions that workers have
        self._weights: Any = None  # of the newest version, as workers take them
        self._length: int | None = None  # of segments, while a caller collects

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
        transition = _row_of(segment.rows, row)
        # A step is handed over, added and counted, or not at all.
        with defer_keyboard_interrupt():
            if row in segment.breaks:
                self.buffer.end_episodes()
            self.buffer.add(transition)
            self.agent.count_steps(self.envs.num_envs)
            self._row += 1
            if self._row == len(segment.logs):
                self._segment = None
        self._lag.add(segment.version)
        logs = segment.logs[row]
        if not (logs or getattr(self.buffer, "full", False)):
            return logs
        lost = {"lost_segments": self.lost_segments} if self.lost_segments else {}
        return {**logs, **self._lag.report(), **lost}

    def collect(self, num_steps: int, *, reset: bool = False) -> TensorDict:
        """Collect a rollout `[T, N]` for the caller instead of for the buffer.

        Meanwhile, and while the caller learns from it, workers are `max_policy_lag`
        segments of this length ahead. With `reset` new episodes begin everywhere, and
        what was collected ahead is given up.
        """
        self.buffer.end_episodes()
        if reset:
            self.reset(None)
        self._length = num_steps
        try:
            return collect(self, num_steps)
        finally:
            self._length = None

    def report(self) -> dict[str, Any]:
        """Logs of episodes that ended and were not reported, and the lag."""
        if not self._started:
            return {}
        return {**mean_episode(self._ask_all("report")), **self._lag.report()}

    def statistics(self) -> dict[str, Any]:
        """Steps and episodes of each worker, and means over the latest episodes."""
        found = self.pool.cluster.ray.get(self.pool.stats.summary.remote(), timeout=10)
        return {**found, "lives": self.pool.lives, "lost_segments": self.lost_segments}

    def reset(self, seed: int | None) -> None:
        """Begin new episodes everywhere; what was collected ahead is given up."""
        self._requests.clear()
        self._segment = None
        if seed is not None:
            self.seed, self._started = seed, False
        if self._started:
            self._ask_all("reset")

    def state_dict(self) -> dict[str, Any]:
        """All workers' environments and agents, and the rows that wait."""
        waiting = [] if self._segment is None else [(self._row, self._segment)]
        waiting += [(0, self._answered(request)) for request in self._requests]
        return {
            "segments": [[row, _as_tensors(vars(part))] for row, part in waiting],
            "workers": self._ask_all("state_dict") if self._started else None,
            "lag": self._lag.state_dict(),
            "lost_segments": self.lost_segments,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; without that, begin new episodes."""
        self._requests.clear()
        self._segment = self._weights = None
        if "workers" not in state:
            self.seed, self._started = self.seed + self.agent.sample_step, False
            self.buffer.end_episodes()
            return
        self._lag.load_state_dict(state["lag"])
        self.lost_segments = state["lost_segments"]
        if state["workers"] is not None:
            self._begin(state["workers"])
        for row, saved in state["segments"]:
            part = Part(**_as_arrays(saved))
            if row:
                self._segment, self._row = part, row
            else:
                rows = len(part.logs)
                self._requests.append(Request(rows, 0, [], part=part))

    def _begin(self, states: Any = None) -> None:
        """Give the workers the agent of now."""
        algorithm = self.agent.algorithm
        model = deepcopy(self.agent.model).to("cpu")
        recipe = AgentRecipe(type(self.agent), type(algorithm), model)
        self.pool.begin(recipe, self.seed, states)
        self._sent = [None] * self.pool.count
        self._started = True

    def _receive(self) -> None:
        """Make the next segment the one that is handed over; ask for those after it."""
        if not self._started:
            self._begin()
        self._ask(1)
        segment = self._answered(self._requests[0])
        self._requests.popleft()
        self._segment, self._row = segment, 0
        self._ask(self.max_policy_lag)

    def _ask(self, segments: int) -> None:
        """Ask for segments until so many are under way."""
        num_envs = self.envs.num_envs
        while len(self._requests) < segments:
            own = 0 if self._segment is None else len(self._segment.logs) - self._row
            ahead = own + sum(request.num_rows for request in self._requests)
            rows = self._length or max(1, self.rows_ahead(ahead))
            step = self.agent.sample_step + ahead * num_envs
            request = Request(rows, step, [None] * self.pool.count)
            for index in range(self.pool.count):
                request.answers[index] = self._asked(index, request)
            self._requests.append(request)

    def _asked(self, index: int, request: Request) -> Any:
        """Ask one worker, with new weights if it has older ones."""
        version, weights = self.agent.policy_version, ()
        if self._weights is None or self._weights[0].version != version:
            tensors = learned(self.agent.model)
            signature = Signature.of(tensors, version)
            sent = self.pool.cluster.ray.put(packed(tensors))
            self._weights = signature, sent
        if version != self._lag.newest:
            self._lag.publish(version)
        if self._sent[index] != version:
            weights, self._sent[index] = self._weights, version
        rows, step = request.num_rows, request.sample_step
        return self.pool.call(index, "collect", rows, step, *weights)

    def _answered(self, request: Request) -> Part:
        """What all workers answer, as one segment `[T, N]`."""
        if request.part is None:
            parts = [self._answer(i, request) for i in range(self.pool.count)]
            request.part = _joined(parts, request.breaks)
        return request.part

    def _answer(self, index: int, request: Request) -> Part:
        """What one worker answers; if it has died, what one in its place does."""
        while True:
            if request.answers[index] is None:
                self._ask_again(index)
            try:
                return self.pool.get(index, request.answers[index])
            except DeadWorkerError:
                self.pool.restart(index)
                self._sent[index] = None
                self.lost_segments += self._forget(index)
            except WorkerError:  # the next call begins new episodes
                self._forget(index)
                raise

    def _forget(self, index: int) -> int:
        """Give up what a worker was asked for; how many segments that is."""
        unanswered = [request for request in self._requests if request.part is None]
        for request in unanswered:
            request.answers[index] = None
        return len(unanswered)

    def _ask_again(self, index: int) -> None:
        """Ask anew for what was given up, in order; episodes do not go on."""
        unanswered = [request for request in self._requests if request.part is None]
        unanswered[0].breaks.add(0)
        self.pool.call(index, "reset")
        for request in unanswered:
            request.answers[index] = self._asked(index, request)

    def _ask_all(self, method: str) -> list[Any]:
        """What each worker answers to a call."""
        asked = [self.pool.call(i, method) for i in range(self.pool.count)]
        return [self.pool.get(i, answer) for i, answer in enumerate(asked)]


def _row_of(rows: Any, row: int) -> Any:
    """A transition: entries `[N, ...]`, nested or not."""
    if isinstance(rows, dict):
        return {name: _row_of(value, row) for name, value in rows.items()}
    return rows[row]


def _joined(parts: Sequence[Part], breaks: set[int]) -> Part:
    """The segments of several workers side by side, in memory of their own."""
    rows = _side_by_side([part.rows for part in parts])
    logs = parts[0].logs
    if len(parts) > 1:
        of_rows = zip(*(part.logs for part in parts), strict=True)
        logs = [mean_episode(of_row) for of_row in of_rows]
    breaks = breaks.union(*(part.breaks for part in parts))
    return Part(rows, logs, sorted(breaks), min(part.version for part in parts))


def _side_by_side(parts: list[Any]) -> Any:
    first = parts[0]
    if isinstance(first, dict):
        return {name: _side_by_side([part[name] for part in parts]) for name in first}
    return np.concatenate(parts, axis=1)


def _as_tensors(value: Any) -> Any:
    """Arrays as tensors, which a checkpoint can hold."""
    if isinstance(value, dict):
        return {name: _as_tensors(entry) for name, entry in value.items()}
    return torch.from_numpy(value.copy()) if isinstance(value, np.ndarray) else value


def _as_arrays(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _as_arrays(entry) for name, entry in value.items()}
    return value.numpy() if isinstance(value, torch.Tensor) else value
