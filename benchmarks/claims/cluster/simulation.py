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
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from yieldrl.benchmarks import results
from yieldrl.benchmarks.claim import Run, Verdict, at_most, constants, median
from yieldrl.benchmarks.style import COLORS, INK

from .services import ROWS
from .steps import FIELDS, WORKERS
from .steps import SECONDS as STEP

NAMES = "WORLD", "MAX_BATCH", "DEADLINE"
WORLD, MAX_BATCH, DEADLINE = constants("cluster/simulation", *NAMES)
COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)
LAGS = (0, 1, 4)
SEGMENTS = 24  # the first third is not counted
SETTINGS = {"world": WORLD, "max_batch": MAX_BATCH, "deadline": DEADLINE}

LARGE = {
    **{f"lag {lag}": f"policy of 1 MB, lag {lag}" for lag in LAGS},
    **{f"large {lag}": f"policy of 1 GB, lag {lag}" for lag in LAGS},
    **{f"inference {lag}": f"64 inference actors, lag {lag}" for lag in LAGS},
}


def measured(name: str) -> list[Run]:
    """Runs of another claim, whose numbers are the service times here."""
    path = results.FOLDER / f"cluster-{name}.json"
    if not path.is_file():
        raise ValueError(f"measure first: python -m benchmarks cluster {name}")
    return results.load(path)["runs"]


def service_times() -> dict[str, float]:
    """Seconds: of a call; of a segment, and of one worker's share in it; of a batch,
    and of one observation in it; of laying down a megabyte, and until it is loaded."""
    runs = measured("services")

    def ms(name: str, of: str = "own") -> float:
        return median(runs, of, name=name) / 1e3

    joins = [ms(f"segment {n}") for n in WORKERS]
    per_worker, join = np.polyfit(WORKERS, joins, 1)
    one, many = ms("batch 1", "ms"), ms("batch 64", "ms")
    return {
        "call": ms("call", "ms"),
        "join": max(0.0, float(join)),
        "per_worker": max(0.0, float(per_worker)),
        "batch": one,
        "observation": max(0.0, (many - one) / 63),
        "put": ms("weights 100 1") / 100,
        "megabyte": ms("weights 100 1", "ms") / 100,
    }


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


def measure(options: Any) -> list[dict[str, Any]]:
    """What was measured again, and what nobody has measured."""
    times, taken = service_times(), measured("steps")
    found: list[dict[str, Any]] = []
    for seed in options.numbers:
        for n in WORKERS:
            of = {"side": f"ray {n}", "cost": "wait"}
            step = STEP["wait"] * FIELDS["num_envs"] / n
            here = {"workers": n, "lag": 1, "same": True, "mb": 0.04, "step": step}
            run = simulated(
                seed, learn=median(taken, "learn", **of), times=times, **here
            )
            run["rate"] *= FIELDS["num_envs"] / n
            found.append(run | {"case": "here", "taken": median(taken, "rate", **of)})
        far: dict[str, Any] = {"learn": WORLD["learn"], "times": times}
        far["step"] = STEP["wait"]
        for lag in LAGS:
            for n in COUNTS[:-1]:
                found.append(
                    {"case": "far", **simulated(seed, workers=n, lag=lag, **far)}
                )
            sides = {"lag": {}, "large": {"mb": 1e3}, "inference": {"actors": 64}}
            for name, side in sides.items():
                run = simulated(seed, workers=COUNTS[-1], lag=lag, **side, **far)
                found.append({"case": f"{name} {lag}", **run})
    return found


def simulated(seed: int, **of: Any) -> dict[str, Any]:
    run = Cluster(rng=np.random.default_rng(seed), **of).run()
    return {"seed": seed, "workers": of["workers"], "max_lag": of["lag"], **run}


def judge(runs: Sequence[Run]) -> list[Verdict]:
    return [
        at_most(
            f"{n} workers, simulated over measured, away from 1",
            abs(median(runs, "rate", **here) / median(runs, "taken", **here) - 1),
            0.15,
        )
        for n in WORKERS
        if (here := {"case": "here", "workers": n})
    ]


def draw(axes: Any, runs: Sequence[Run]) -> None:
    for color, lag in zip(COLORS, LAGS, strict=False):
        cases = ["far"] * (len(COUNTS) - 1) + [f"lag {lag}"]
        shares = [
            median(runs, "share", case=case, workers=n, max_lag=lag)
            for case, n in zip(cases, COUNTS, strict=True)
        ]
        axes.plot(COUNTS, shares, ".-", color=color, label=f"lag up to {lag}")
        share = median(runs, "share", case=f"inference {lag}")
        axes.plot(COUNTS[-1], share, "s", color=color, fillstyle="none")
    axes.plot([], [], "s", color=INK, fillstyle="none", label="64 inference actors")
    taken = [
        median(runs, "taken", case="here", workers=n) * STEP["wait"] / n
        for n in WORKERS
    ]
    axes.plot(WORKERS, taken, "x", color=INK, label="measured, lag up to 1")
