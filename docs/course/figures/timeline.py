"""Collector and learner simulated tick by tick, for chapter 15's timeline.

The ring of segments keeps its books as `CircularBuffer` does, `PolicyLag` counts how
old the policy was that acted, and either side begins when `AsyncCollector` would let it
begin. Only the rows themselves are left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from yieldrl.buffers.ring_positions import NONE, RingPositions
from yieldrl.collectors.policy_lag import PolicyLag

ROWS, TICKS = 6, 144
"""Steps of a rollout, and how much time is shown."""
LAGS = list(range(6))
COUNT = TICKS // ROWS + max(LAGS) + 1  # more rollouts than fit
SEEDED = np.random.default_rng(39)  # one with which more than a lag of 1 pays


class Works(NamedTuple):
    """Ticks of a step, and of learning from a rollout, for each rollout."""

    step: list[int]
    learn: list[int]


WORKS = {
    "1 : 3": Works([1] * COUNT, [18] * COUNT),
    "1 : 1": Works([2] * COUNT, [12] * COUNT),
    "3 : 1": Works([3] * COUNT, [6] * COUNT),
    "uneven": Works(
        SEEDED.choice([1, 1, 4], COUNT).tolist(),
        SEEDED.choice([6, 6, 24], COUNT).tolist(),
    ),
}


class Piece(NamedTuple):
    """Work without a break, from tick to tick, and what is written on it."""

    begin: int
    end: int
    segment: int
    number: float  # the policy that acts; of the learner's, the mean lag


class Played(NamedTuple):
    """What a side has done in the time that is shown."""

    collected: list[Piece]
    learned: list[Piece]
    oldest: int = 0  # the largest lag


def in_turn(works: Works) -> Played:
    """Collect a rollout, learn from it, again."""
    collected, learned, now = [], [], 0
    for k, (step, learn) in enumerate(zip(*works, strict=True)):
        between = now + ROWS * step
        collected.append(Piece(now, between, k, k))
        now = between + learn
        learned.append(Piece(between, now, k, 0.0))
    return Played(collected, learned)


class SideBySide:
    """A collector in the background and its learner.

    Args:
        works: How long everything takes.
        max_policy_lag: How many newer policies there may be.
    """

    def __init__(self, works: Works, max_policy_lag: int) -> None:
        slots = (NONE,) * (max_policy_lag + 2)  # as a trainer's ring has
        self.ring = RingPositions(ROWS, slots)
        self.works, self.most = works, max_policy_lag
        self.lag = PolicyLag(0)
        self.limit = self.oldest = 0
        self.rows: list[int] = []  # the policy that acted in each of them
        self.step: Piece | None = None  # under way
        self.learning: Piece | None = None
        self.collected: list[Piece] = []
        self.learned: list[Piece] = []

    def play(self) -> Played:
        """All of the time, and what is under way at its end."""
        for now in range(TICKS + 1):
            if self.step is not None and self.step.end == now:
                self.write(self.step)
            self.look(now)
            self.act(now)
        for works, piece in (
            (self.collected, self.step),
            (self.learned, self.learning),
        ):
            works += [] if piece is None else [piece]
        return Played(merged(self.collected), self.learned, self.oldest)

    def act(self, now: int) -> None:
        """Begin a step, if the ring has room and the limit allows it."""
        segment = len(self.rows) // ROWS
        if self.step is None and self.ring.room and segment <= self.limit:
            end = now + self.works.step[segment]
            self.step = Piece(now, end, segment, self.lag.newest)

    def write(self, step: Piece) -> None:
        """A step is done: one more row, with the policy that acted in it."""
        self.ring.open_segment()
        self.ring.written += 1
        self.rows.append(int(step.number))
        self.collected.append(step)
        self.step = None

    def look(self, now: int) -> None:
        """What the learner does at a tick: finish, hand weights over, read, begin."""
        if self.learning is not None:
            if self.learning.end > now:
                return
            self.learned.append(self.learning)
            self.learning = None
            self.ring.clear()
            self.lag.publish(len(self.learned))
        self.limit = self.ring.next_segment + self.most
        while self.ring.waiting and self.ring.row < ROWS:
            self.ring.hand_over()
            row = self.ring.claimed * ROWS + self.ring.row - 1
            self.lag.add(self.rows[row])
        if self.ring.row == ROWS:
            said, segment = self.lag.report(), len(self.learned)
            self.oldest = max(self.oldest, int(said["policy_lag_max"]))
            end = now + self.works.learn[segment]
            self.learning = Piece(now, end, segment, said["policy_lag"])


def merged(steps: list[Piece]) -> list[Piece]:
    """Steps of one rollout and one policy, with no break between them, as one piece."""
    pieces: list[Piece] = []
    for step in steps:
        last = pieces[-1] if pieces else None
        if last and (last.end, *last[2:]) == (step.begin, *step[2:]):
            pieces[-1] = last._replace(end=step.end)
        else:
            pieces.append(step)
    return pieces
