"""Segments: steps that are collected elsewhere, for a learner to take one by one."""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl.collectors.sync import Collector, collect, reads_next_obs
from yieldrl.core import defer_keyboard_interrupt
from yieldrl.core.trees import map_tensors
from yieldrl.envs.arrays import as_tensors, tree_map

MAX_VERSIONS = 4096  # versions that are remembered


@dataclass
class Segment:
    """Consecutive steps of all environments, by one policy."""

    rows: dict[str, Any]  # entries of its transitions, [T, N, ...]
    logs: list[dict[str, Any]]  # of ended episodes, by row
    breaks: list[int]  # rows before which all episodes were cut
    version: int  # the oldest `policy_version` that acted
    metrics: dict[str, float] = field(default_factory=dict)  # of inference actors
    aside: list[Any] = field(default_factory=list)  # references to entries not in rows

    @classmethod
    def saved(cls, state: Mapping[str, Any]) -> "Segment":
        """A segment from a checkpoint, which holds tensors in place of arrays."""
        return cls(**map_tensors(Tensor.numpy, dict(state)))


class SegmentWriter:
    """The buffer of a `SyncCollector` whose steps become a segment.

    Args:
        copy: Copies an array or a tensor, which environments may write into again.
        unread: Names of entries to leave out.

    Attributes:
        logs: Of the episodes that ended in each row; set after each step.
    """

    def __init__(
        self, copy: Callable[[Any], Any], unread: tuple[str, ...] = ()
    ) -> None:
        self._copy, self.unread = copy, unread
        self.clear()

    def clear(self) -> None:
        """Begin another segment."""
        self.rows: list[Any] = []
        self.logs: list[dict[str, Any]] = []
        self.breaks: list[int] = []

    def add(self, transition: Mapping[str, Any]) -> None:
        """Keep a copy of one step, entries `[N, ...]`."""
        read = {k: v for k, v in transition.items() if k not in self.unread}
        self.rows.append(tree_map(self._copy, read))
        self.logs.append({})

    def end_episodes(self) -> None:
        """Note that the next step continues no episode."""
        self.breaks.append(len(self.rows))

    def segment(self, version: int, **metrics: float) -> Segment:
        """All steps since `clear`, `[T, N, ...]`, by a policy of this version."""
        rows = tree_map(_stacked, *self.rows)
        return Segment(rows, self.logs, self.breaks, version, metrics)


class PolicyLag:
    """Counts the policies handed over since that of a transition, from `version` on."""

    def __init__(self, version: int) -> None:
        self._versions = [version]  # handed over, ascending
        self._total = self._count = self._max = 0

    @property
    def newest(self) -> int:
        """The version handed over last."""
        return self._versions[-1]

    def publish(self, version: int) -> None:
        """Count another policy as handed over."""
        self._versions = [*self._versions[1 - MAX_VERSIONS :], version]

    def of(self, version: int) -> int:
        """The lag of a version: how many policies are newer."""
        return len(self._versions) - bisect_right(self._versions, version)

    def add(self, version: int) -> None:
        """Note that a transition of this version is about to be learned from."""
        lag = self.of(version)
        self._total, self._count = self._total + lag, self._count + 1
        self._max = max(self._max, lag)

    def report(self) -> dict[str, float]:
        """Mean and maximum since the last report; empty if nothing was added."""
        if self._count == 0:
            return {}
        mean, largest = self._total / self._count, self._max
        self._total = self._count = self._max = 0
        return {"policy_lag": mean, "policy_lag_max": largest}

    def state_dict(self) -> dict[str, Any]:
        """The versions that are remembered, and what is not reported."""
        pending = [self._total, self._count, self._max]
        return {"versions": self._versions, "pending": pending}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._versions = list(state["versions"])
        self._total, self._count, self._max = state["pending"]


@dataclass
class Request:
    """A segment that was asked for."""

    num_rows: int
    sample_step: int  # environment steps before it
    segment: Segment | None = None  # once it is whole


class Segments(ABC):
    """Segments that were asked for, and that a thread or workers on Ray collect.

    Attributes:
        requests: What was asked for and neither taken nor dropped, the oldest first.
        lag: Counts the policies that were handed over.
        started: Whether episodes have begun.
        dropped: Number of environment steps that were too old to be learned from.
        unread: Names of entries that nobody learns from, and that segments lack.
    """

    def __init__(self, agent: Any) -> None:
        self.agent, self.lag = agent, PolicyLag(agent.policy_version)
        self.requests: list[Any] = []
        self.started, self.dropped = False, 0
        self.unread = () if reads_next_obs(agent) else ("next_obs",)

    def __len__(self) -> int:
        return len(self.requests)

    @property
    def num_rows(self) -> int:
        """Rows of all segments that were asked for."""
        return sum(request.num_rows for request in self.requests)

    @property
    @abstractmethod
    def all_arrived(self) -> bool:
        """Whether all that was asked for is there, so that nobody collects."""

    @abstractmethod
    def start(self, seed: int) -> None:
        """Begin the first episodes with the next segment."""

    @abstractmethod
    def ask(self, num_rows: int, sample_step: int, *, older: bool = False) -> None:
        """Ask for the next segment; of an `older` policy, newer weights wait."""

    @abstractmethod
    def first(self, *, light: bool = False) -> Segment:
        """Wait for the oldest segment; raises the error of a thread or a worker.

        A `light` one may lack observations: it is looked at, or dropped.
        """

    def remove_first(self) -> None:
        """Forget the oldest segment, which was taken or dropped."""
        del self.requests[0]

    def give_up(self) -> None:
        """Forget all segments, also those under way."""
        self.requests = []

    @abstractmethod
    def reset(self) -> None:
        """Begin new episodes everywhere."""

    def go_on(self) -> None:  # noqa: B027 - for a thread
        """Hand over newer weights, and let a thread that was stopped go on."""

    def check(self) -> None:  # noqa: B027 - for a thread
        """Raise the error with which a thread has ended."""

    def stop(self) -> None:  # noqa: B027 - for a thread
        """Stop a thread between two steps; `go_on` starts it again."""

    def report(self) -> dict[str, float]:
        """Metrics: the lag since the last report, and how many steps were dropped."""
        dropped = {"dropped_steps": self.dropped} if self.dropped else {}
        return {**self.lag.report(), **dropped}

    def unreported(self) -> dict[str, float]:
        """Logs of episodes that ended, and that no row reports."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """The segments that are whole, and what was counted."""
        whole = [request.segment for request in self.requests if request.segment]
        return {
            "parts": [self.saved(segment) for segment in whole],
            "lag": self.lag.state_dict(),
            "dropped": self.dropped,
        }

    def saved(self, segment: Segment) -> dict[str, Any]:
        """A segment, as tensors and plain values."""
        return as_tensors(vars(segment))

    def load_state_dict(self, state: Mapping[str, Any], seed: int) -> None:
        """Restore what `state_dict` returned; `seed` as of `start`."""
        self.lag.load_state_dict(state["lag"])
        self.dropped = state["dropped"]
        parts = [Segment.saved(saved) for saved in state["parts"]]
        self.requests = [Request(len(part.logs), 0, part) for part in parts]


class SegmentCollector(Collector):
    """Asks for segments, and hands over their steps one by one.

    A segment has as many steps as the learner takes before it learns again, by one
    policy. With `max_policy_lag` 0 the next one is asked for when the learner has
    learned from the one before, which gives the data of a `SyncCollector`. With more,
    as many segments are collected ahead.

    Args:
        envs: The environments, which nothing else may step.
        agent: The agent that learns.
        buffer: The learner's buffer.
        segments: Collects them: in a thread, or by workers on Ray.
        seed: Seed of the environments' first reset.
        max_policy_lag: The largest lag of a transition: how many newer policies were
            handed over before it was.
        rows_ahead: Steps of the next segment, if so many are under way already.
        when_stale: What to do at that limit: `wait`, or `drop` the oldest segments and
            go on collecting.

    Attributes:
        logs: Of the episodes that ended in the latest `collect`.
    """

    def __init__(
        self,
        envs: Any,
        agent: Any,
        buffer: Any,
        segments: Segments,
        *,
        seed: int,
        max_policy_lag: int = 1,
        rows_ahead: Callable[[int], int] = lambda _: 1,
        when_stale: Literal["wait", "drop"] = "wait",
    ) -> None:
        self.envs, self.agent, self.buffer = envs, agent, buffer
        self.segments = segments
        self.seed, self.rows_ahead = seed, rows_ahead
        self.max_policy_lag, self.drops = max_policy_lag, when_stale == "drop"
        self.logs: dict[str, Any] = {}
        self._segment: Segment | None = None  # being handed over
        self._row = 0  # the next row of the segment
        self._length: int | None = None  # rows per segment in `collect`
        self._gap = False  # the next segment starts new episodes

    def step(self) -> dict[str, Any]:
        """Hand over one step of all environments; logs of the episodes that ended.

        These, and those of a rollout's last step, have `policy_lag`, the mean since the
        last report, `policy_lag_max` and, once any were dropped, `dropped_steps`.
        """
        self.segments.check()
        self.segments.go_on()
        if self._segment is not None and self._stale(self._segment):
            with defer_keyboard_interrupt():
                self._drop(len(self._segment.logs) - self._row)
                self._segment = None
        if self._segment is None:
            self._receive()
        segment, row = self._segment, self._row
        assert segment is not None
        transition = tree_map(lambda x: x[row], self._rows(segment))
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

        Meanwhile, and while the caller learns from it, `max_policy_lag` segments of
        this length are collected ahead. With `reset` new episodes begin everywhere, and
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
        """Raise errors; with `drop`, discard the oldest segment so that nobody waits.

        Nothing that was collected before an error is lost.
        """
        waiting = self.segments
        waiting.check()
        if not (self.drops and waiting.started and waiting.all_arrived):
            return
        if len(waiting) > self.max_policy_lag:
            self._drop_first()
        self._ask(len(waiting) + 1, older=True)

    def stop(self) -> None:
        """Stop a thread between two steps, or leave it behind, with a warning."""
        self.segments.stop()

    def report(self) -> dict[str, Any]:
        """Logs of episodes that ended and were not reported, and the lag."""
        return {**self.segments.unreported(), **self.segments.report()}

    def reset(self, seed: int | None) -> None:
        """Begin new episodes everywhere; what was collected ahead is given up."""
        self.segments.give_up()
        self._segment, self._gap = None, True
        if seed is not None:
            self.seed, self.segments.started = seed, False
        if self.segments.started:
            self.segments.reset()

    def state_dict(self) -> dict[str, Any]:
        """Environments and agents that collect, and the steps that wait."""
        now = None if self._segment is None else self.segments.saved(self._segment)
        return {"segment": now, "row": self._row, **self.segments.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; without that, begin new episodes."""
        self.segments.give_up()
        self._segment = None
        if "parts" not in state:
            self.seed += self.agent.sample_step
            self.segments.started = False
            self.buffer.end_episodes()
            return
        self.segments.load_state_dict(state, self.seed)
        if state["segment"] is not None:
            self._segment, self._row = Segment.saved(state["segment"]), state["row"]

    def _rows(self, segment: Segment) -> dict[str, Any]:
        """Entries `[T, N, ...]` of a segment that is handed over."""
        return segment.rows

    def _receive(self) -> None:
        """Take the next segment to hand over; ask for those after it."""
        if not self.segments.started:
            self.segments.start(self.seed)
        self._ask(1)
        while self._stale(self.segments.first(light=True)):
            self._drop_first()
            self._ask(1)
        part = self.segments.first()
        if self._gap:
            self.buffer.end_episodes()
        with defer_keyboard_interrupt():
            self.segments.remove_first()
            self._segment, self._row, self._gap = part, 0, False
        self._ask(self.max_policy_lag + self.drops)

    def _stale(self, part: Segment) -> bool:
        """Whether a segment is of an earlier phase, or too old.

        Without `drop` that is looked at in `collect`, where policies may be handed over
        in the middle of a segment.
        """
        whole = self._segment is None
        if whole and part.version < self.agent.counters.learns_since:
            return True
        lag = self.segments.lag
        newer = lag.of(part.version) + (self.agent.policy_version != lag.newest)
        limited = self._length is not None or (whole and self.drops)
        return limited and newer > self.max_policy_lag

    def _drop_first(self) -> None:
        part = self.segments.first(light=True)
        with defer_keyboard_interrupt():
            self._drop(len(part.logs))
            self.segments.remove_first()

    def _drop(self, rows: int) -> None:
        self.segments.dropped += rows * self.envs.num_envs
        self._gap = True

    def _ask(self, count: int, *, older: bool = False) -> None:
        """Ask for segments until `count` are under way."""
        while len(self.segments) < count:
            part = self._segment
            ahead = self.segments.num_rows + (len(part.logs) - self._row if part else 0)
            rows = self._length or max(1, self.rows_ahead(ahead))
            step = self.agent.sample_step + ahead * self.envs.num_envs
            self.segments.ask(rows, step, older=older)


def _stacked(*values: Any) -> Any:
    """Arrays as an array, and tensors, or both, as a tensor, with a new first axis."""
    tensors = [x for x in values if isinstance(x, Tensor)]
    if not tensors:
        return np.stack(values)
    return torch.stack([torch.as_tensor(x).to(tensors[0].device) for x in values])


def tensors_of(model: nn.Module) -> dict[str, Tensor]:
    """All parameters and buffers of a model, by name."""
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}
