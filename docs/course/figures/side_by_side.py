"""Chapter 15's figure: collector and learner on a timeline, in turn and side by side.

When each of them waits is simulated tick by tick: the ring of segments keeps its books
as `CircularBuffer` does, `PolicyLag` counts how old the policy was that acted, and
either side begins when `AsyncCollector` would let it begin. Only the rows themselves
are left out.
"""

import statistics
from typing import Any, NamedTuple

import numpy as np

from yieldrl.buffers.ring_positions import NONE, RingPositions
from yieldrl.collectors.policy_lag import PolicyLag

from . import drawing as svg
from .drawing import Frame, Scale

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


ACROSS = Scale(0, TICKS, 66, 468)
LANES = (24, 50, 112, 138)  # upper edges


def figure() -> dict[str, Any]:
    """All frames: a limit of the lag and a kind of work each."""
    sides = {
        (most, kind): (in_turn(works), SideBySide(works, most).play())
        for most in LAGS
        for kind, works in WORKS.items()
    }
    room = [max(len(lanes(*pair)[i]) for pair in sides.values()) for i in range(4)]
    return svg.figure(
        size=(480, 190),
        svg=drawing(room),
        controls={
            "max_policy_lag": svg.labelled(LAGS),
            "collecting : learning": svg.labelled(WORKS),
        },
        start=("1", "1 : 1"),
        frame=lambda most, kind: frame(*sides[most, kind], most, room),
    )


def lanes(turn: Played, beside: Played) -> list[list[Piece]]:
    """The four lanes, from above, as far as time is shown."""
    found = (turn.collected, turn.learned, beside.collected, beside.learned)
    return [[piece for piece in lane if piece.begin < TICKS] for lane in found]


def frame(turn: Played, beside: Played, most: int, room: list[int]) -> Frame:
    """Both sides; each lane has so many boxes, and hides what it lacks."""
    boxes, numbers = {}, {}
    for i, (lane, count) in enumerate(zip(lanes(turn, beside), room, strict=True)):
        ends = [(ACROSS(of.begin), ACROSS(min(of.end, TICKS))) for of in lane]
        ends += [(66, 66)] * (count - len(lane))
        wide = [round(right - left, 1) for left, right in ends]
        words = [f"{of.number:.2g}" for of in lane] + [""] * (count - len(lane))
        boxes[f"lane-{i} x"] = [left for left, _ in ends]
        boxes[f"lane-{i} width"] = wide
        numbers[f"number-{i} x"] = [round(sum(of) / 2, 1) for of in ends]
        numbers[f"number-{i} text"] = [
            word if width > 14 else "" for word, width in zip(words, wide, strict=True)
        ]
    handed = [f"M{ACROSS(piece.end)} 109V163" for piece in finished(beside)]
    said = {"handed d": "".join(handed), "says text": text(turn, beside, most)}
    return boxes | numbers | said


def finished(of: Played) -> list[Piece]:
    """The updates that are done by the end."""
    return [piece for piece in of.learned if piece.end <= TICKS]


def text(turn: Played, beside: Played, most: int) -> str:
    """A frame in words."""
    done = finished(beside)
    rest = [idle(lane) for lane in lanes(turn, beside)[2:]]
    mean = statistics.mean(piece.number for piece in done)
    return (
        f"max_policy_lag = {most}: {len(done)} updates, and {len(finished(turn))} in"
        f" turn. The policy that acted is {mean:.1f} updates old on average, and"
        f" {beside.oldest} at most. The collector waits {rest[0]:.0%} of the time, the"
        f" learner {rest[1]:.0%}."
    )


def idle(lane: list[Piece]) -> float:
    """The share of the time in which a lane is empty."""
    return 1 - sum(min(piece.end, TICKS) - piece.begin for piece in lane) / TICKS


def drawing(room: list[int]) -> str:
    """Lanes and their names."""
    parts = []
    style = "stroke:var(--md-default-fg-color);stroke-width:0.7;fill-opacity:"
    for i, (top, count) in enumerate(zip(LANES, room, strict=True)):
        look, opacity, name = (("shade", 0.35, "collects"), ("band", 0.3, "learns"))[
            i % 2
        ]
        parts.append(svg.label(60, top + 15, name, "end"))
        lane = svg.box(f"lane-{i} {look}", "", top, "", 22, style=f"{style}{opacity}")
        number = svg.label("", top + 15, anchor="middle", class_=f"number-{i}")
        parts.append((lane + number) * count)
    return svg.parts(
        svg.label(66, 16, "in turn", font_weight=600),
        svg.label(66, 104, "side by side", font_weight=600),
        "".join(parts),
        svg.line("handed red line dotted", style="stroke-width:1.4"),
        svg.line("axis", "M66 170H472m-6 -4l6 4l-6 4"),
        svg.label(472, 186, "time", "end"),
    )
