"""Workers, inference actors and a learner as queues, by the events between them.

The learner asks all workers for a segment, call by call, joins what they have sent,
and learns; `max_lag` segments are under way meanwhile. A worker has a policy of its
own, or sends each observation to the inference actor that it shares with others and
that serves what has come, up to `MAX_BATCH` or after `DEADLINE`. Weights leave the
learner's machine once for each machine, as a tree: each that has them sends them on.
"""

import heapq
import math
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .services import ROWS

WORLD = {  # what no machine here can measure
    "between_workers": 0.05,  # by which factor steps differ
    "between_steps": 0.1,
    "learn": 0.1,  # seconds of an update
    "bandwidth": 1_250_000_000,  # bytes a second that leave a machine
    "workers_a_machine": 16,
}
MAX_BATCH = 64
DEADLINE = 0.002  # seconds that an inference actor waits for a fuller batch
SEGMENTS = 24  # the first third is not counted


@dataclass
class Cluster:
    """One run of the simulation."""

    workers: int
    lag: int
    step: float  # seconds of a row of one worker
    learn: float
    times: dict[str, float]
    rng: np.random.Generator
    actors: int = 0
    mb: float = 1.0
    same: bool = False  # whether all workers and steps are alike, as on one machine
    events: list[Any] = field(default_factory=list)
    lags: list[int] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)

    def run(self) -> dict[str, float]:
        own = 0.0 if self.same else WORLD["between_workers"]
        self.factors = self.step * self.rng.lognormal(0.0, own, self.workers)
        self.todo = [deque[float]() for _ in range(self.workers)]  # when asked for
        self.rows, self.busy = [0] * self.workers, [False] * self.workers
        self.queues = [deque[tuple[float, int]]() for _ in range(self.actors)]
        self.serving = [False] * self.actors
        self.sent: deque[int] = deque()  # versions of the segments under way
        self.arrived, self.done = [0] * (SEGMENTS + self.lag + 2), [0] * self.workers
        self.version, self.published, self.free, self.idle = 0, -1, 0.0, True
        self.ask(0.0, 1)
        while len(self.ends) < SEGMENTS:
            now, _, kind, who = heapq.heappop(self.events)
            getattr(self, kind)(now, who)
        first = SEGMENTS // 3
        steps = ROWS * self.workers * (SEGMENTS - 1 - first)
        rate = steps / (self.ends[-1] - self.ends[first])
        found = {"rate": rate, "share": rate * self.step / self.workers}
        found["lag"] = float(np.mean(self.lags[first:]))
        own = [1.0], [self.times["batch"]]  # a policy in each worker
        batches, waits = (self.batches, self.waits) if self.actors else own
        found |= {"batch": np.mean(batches), "latency": np.mean(waits) * 1e3}
        return {name: round(float(value), 4) for name, value in found.items()}

    def at(self, when: float, kind: str, who: int) -> None:
        heapq.heappush(self.events, (when, len(self.events), kind, who))

    def ask(self, now: float, count: int) -> None:
        """The learner asks for segments until so many are under way."""
        while len(self.sent) < count:
            arrives = now
            if self.published != self.version:
                receivers = self.actors or self.workers
                machines = math.ceil(receivers / WORLD["workers_a_machine"])
                hops = 0 if self.same else math.ceil(math.log2(machines + 1))
                arrives += self.mb * self.times["megabyte"]
                now += self.mb * self.times["put"]
                arrives += hops * self.mb * 1e6 / WORLD["bandwidth"]
                self.published = self.version
            for worker in range(self.workers):
                now += self.times["per_worker"] / 2
                self.at(max(now, arrives), "asked", worker)
            self.sent.append(self.version)
        self.free = now

    def asked(self, now: float, worker: int) -> None:
        self.todo[worker].append(now)
        self.begin(now, worker)

    def begin(self, now: float, worker: int) -> None:
        if self.busy[worker] or not self.todo[worker]:
            return
        self.todo[worker].popleft()
        self.busy[worker] = True
        if self.actors:
            self.rows[worker] = ROWS
            self.at(now + self.times["call"] / 2, "wanted", worker)
            return
        each = self.rng.standard_normal() * WORLD["between_steps"] * (not self.same)
        seconds = self.factors[worker] * (ROWS + each * ROWS**0.5)
        self.at(now + seconds + ROWS * self.times["batch"], "sent_in", worker)

    def wanted(self, now: float, worker: int) -> None:
        """An observation has come to its inference actor."""
        actor = worker % self.actors
        self.queues[actor].append((now, worker))
        if len(self.queues[actor]) == 1:
            self.at(now + DEADLINE, "serve", actor)
        elif len(self.queues[actor]) >= MAX_BATCH:
            self.serve(now, actor)

    def serve(self, now: float, actor: int) -> None:
        queue = self.queues[actor]
        full = len(queue) >= MAX_BATCH
        if self.serving[actor] or not queue or not (full or self.due(now, actor)):
            return
        batch = [queue.popleft() for _ in range(min(MAX_BATCH, len(queue)))]
        took = self.times["batch"] + len(batch) * self.times["observation"]
        self.serving[actor] = True
        self.at(now + took, "served", actor)
        self.batches.append(len(batch))
        for came, worker in batch:
            back = now + took + self.times["call"] / 2
            self.waits.append(back - came + self.times["call"] / 2)
            noise = 1 + self.rng.standard_normal() * WORLD["between_steps"]
            self.at(back + self.factors[worker] * max(0.1, noise), "stepped", worker)

    def due(self, now: float, actor: int) -> bool:
        return now - self.queues[actor][0][0] >= DEADLINE - 1e-9

    def served(self, now: float, actor: int) -> None:
        self.serving[actor] = False
        if self.queues[actor]:
            self.at(max(now, self.queues[actor][0][0] + DEADLINE), "serve", actor)
            self.serve(now, actor)

    def stepped(self, now: float, worker: int) -> None:
        self.rows[worker] -= 1
        if self.rows[worker]:
            self.at(now + self.times["call"] / 2, "wanted", worker)
        else:
            self.sent_in(now, worker)

    def sent_in(self, now: float, worker: int) -> None:
        """A worker's part of a segment is there; the next one begins."""
        self.busy[worker] = False
        number, self.done[worker] = self.done[worker], self.done[worker] + 1
        self.arrived[number] += 1
        self.hand_over(now)
        self.begin(now, worker)

    def hand_over(self, now: float) -> None:
        """The next segment, if all of it is there and the learner has time."""
        if self.idle and self.arrived[len(self.ends)] == self.workers:
            self.idle = False
            self.at(max(now, self.free), "handed", len(self.ends))

    def handed(self, now: float, number: int) -> None:
        """A whole segment is handed over, and learned from."""
        now += self.times["join"] + self.workers * self.times["per_worker"] / 2
        self.lags.append(self.version - self.sent.popleft())
        self.ends.append(now)
        self.ask(now, self.lag)
        self.free += self.learn
        self.at(self.free, "learned", number)

    def learned(self, now: float, number: int) -> None:
        self.version += 1
        self.idle = True
        self.ask(now, 1)
        self.hand_over(self.free)
