"""The actor thread of an asynchronous collector."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch

from yieldrl.buffers import CircularBuffer
from yieldrl.collectors.sync import SyncCollector
from yieldrl.collectors.weight_transfer import Weights


class StepRecord(NamedTuple):
    """Version, logs and event of a step of all environments."""

    version: int  # of the policy that acted
    logs: dict[str, Any]
    written: Any  # event of a GPU's stream, None on a CPU


class Acting:
    """Steps environments with an `Agent.actor`, and writes into a ring.

    If it `drops`, it overwrites rows that were not read yet. The `options` are those of
    a `SyncCollector`.
    """

    def __init__(
        self,
        envs: Any,
        actor: Any,
        ring: CircularBuffer,
        weights: Weights,
        *,
        drops: bool,
        **options: Any,
    ) -> None:
        self.ring, self.weights, self.drops = ring, weights, drops
        self.actor = VersionedAgent(actor, envs.num_envs)
        writer = SimpleNamespace(add=ring.write, end_episodes=ring.end_episodes)
        self.inner = SyncCollector(envs, self.actor, writer, **options)
        self.whole = getattr(actor, "one_policy", False)
        self._begun = False  # whether it has the learner's weights
        self.limit = 0  # rows that may be written in total, unless it `drops`
        self.finished = ring.next_written  # rows that have their entry in `rows`
        self.rows: dict[int, StepRecord] = {}  # not handed over yet, by number
        self._dropped = ring.dropped
        self.released: Any = None  # event: memory may be written again
        cuda = ring.device.type == "cuda"
        self._stream = torch.cuda.Stream(ring.device) if cuda else None

    def ready(self) -> bool:
        """Whether the next step may be taken."""
        if self.drops:
            return True
        return self.ring.room and self.finished < self.limit

    def step(self) -> None:
        """Take the newest weights, with `one_policy` once a segment; step and write."""
        between = self.ring.next_written % self.ring.num_steps == 0
        due = between or not (self.whole and self._begun)
        version = self.weights.take() if due else None
        if version is not None:
            self.actor.set_version(version)
            self._begun = True
        if self._stream is not None and self.released is not None:
            self._stream.wait_event(self.released)
        logs: dict[str, Any] = {}
        try:
            logs |= self.inner.step()
        finally:  # an agent may fail when the step is written
            self._note(logs)

    @contextmanager
    def stream(self) -> Iterator[None]:
        """Context for acting: on a GPU a stream of its own."""
        if self._stream is None:
            yield
            return
        self._stream.wait_stream(torch.cuda.current_stream(self._stream.device))
        with torch.cuda.stream(self._stream):
            try:
                yield
            finally:
                self._stream.synchronize()

    def _note(self, logs: dict[str, Any]) -> None:
        """Record a `StepRecord`, if a row was written; drop those of lost rows."""
        ring, stream = self.ring, self._stream
        end, dropped = ring.next_written, ring.dropped
        if end > self.finished:
            event = None if stream is None else stream.record_event()
            self.rows[end - 1] = StepRecord(self.actor.version, logs, event)
            self.finished = end
        if dropped > self._dropped:
            self._dropped, there = dropped, ring.slots
            rows = list(self.rows.items())  # a copy: the reader removes some
            self.rows = {n: row for n, row in rows if n // ring.num_steps in there}

    def state_dict(self) -> dict[str, Any]:
        """The state between two steps."""
        actor = self.actor.agent.state_dict()
        del actor["algorithm"]  # it will act with the learner's weights
        rows = [[number, row.version, row.logs] for number, row in self.rows.items()]
        return {"inner": self.inner.state_dict(), "actor": actor, "rows": rows}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; the ring is restored already."""
        self.actor.agent.load_state_dict(state["actor"])
        self.rows = {n: StepRecord(*row, written=None) for n, *row in state["rows"]}
        self.inner.load_state_dict(state["inner"])
        self.finished = self.ring.next_written
        self._begun = False


class VersionedAgent:
    """An agent that adds its `policy_version` to every transition."""

    def __init__(self, agent: Any, num_envs: int) -> None:
        self.agent, self.num_envs = agent, num_envs
        self.has_memory, self.count_steps = agent.has_memory, agent.count_steps
        self.set_version(agent.counters.policy_version)

    @property
    def sample_step(self) -> int:
        return self.agent.counters.sample_step

    def set_version(self, version: int) -> None:
        """Set the version of the weights that act."""
        self.version = self.agent.counters.policy_version = version
        self._versions: Any = np.full(self.num_envs, version)
        if self.agent.device.type != "cpu":
            self._versions = torch.as_tensor(self._versions).to(self.agent.device)

    def sample(self, obs: Any) -> tuple[Any, dict[str, Any]]:
        """The agent's action, and extras with its `policy_version [N]`."""
        action, extras = self.agent.sample(obs)
        return action, {"policy_version": self._versions, **extras}

    def begin_episode(self, where: Any = None, *, exploring: bool = False) -> None:
        self.agent.begin_episode(where, exploring=exploring)
