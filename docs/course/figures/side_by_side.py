"""Chapter 15's figure: collector and learner on a timeline, in turn and side by side.

When each of them waits is simulated tick by tick: segments are asked for as
`AsyncCollector` asks for them, and `PolicyLag` counts how old the policy was that
acted. Only the rows themselves are left out.
"""

import statistics
from typing import Any, NamedTuple

import numpy as np

from yieldrl.collectors.segments import PolicyLag

from . import drawing as svg
from .drawing import Frame, Scale

ROWS, TICKS = 6, 144
"""Steps of a rollout, and how much time is shown."""
LAGS = list(range(6))
COUNT = TICKS // ROWS + max(LAGS) + 1  # more rollouts than fit
SEEDED = np.random.default_rng(39)  # one with which more than a lag of 1 pays


Works = tuple[list[int], list[int]]
"""Ticks of a step, and of learning from a rollout, for each rollout."""
WORKS: dict[str, Works] = {
    "1 : 3": ([1] * COUNT, [18] * COUNT),
    "1 : 1": ([2] * COUNT, [12] * COUNT),
    "3 : 1": ([3] * COUNT, [6] * COUNT),
    "uneven": (
        SEEDED.choice([1, 1, 4], COUNT).tolist(),
        SEEDED.choice([6, 6, 24], COUNT).tolist(),
    ),
}


class Piece(NamedTuple):
    """Work without a break, from tick to tick, and what is written on it."""

    begin: int
    end: int
    segment: int
    number: float  # the policy that acts; of the learner's, the lag


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


def side_by_side(works: Works, max_policy_lag: int) -> Played:
    """A collector in the background and its learner, tick by tick.

    Of either side the last piece is under way until its end.
    """
    lag, asked = PolicyLag(0), 0
    stepping, learning = works
    steps: list[Piece] = []
    learned: list[Piece] = []
    for now in range(TICKS + 1):
        if learned and learned[-1].end == now:
            lag.publish(len(learned))
        k = len(learned)  # the segment that is learned from next
        if k == 0 or learned[-1].end <= now:
            asked = max(asked, k + 1)
            last = (k + 1) * ROWS  # the number of steps when it is whole
            if len(steps) >= last and steps[last - 1].end <= now:
                asked = k + 1 + max_policy_lag
                age = lag.of(int(steps[last - 1].number))
                learned.append(Piece(now, now + learning[k], k, age))
        k = len(steps) // ROWS  # the segment that the next step belongs to
        if (not steps or steps[-1].end <= now) and k < asked:
            acts = steps[-1].number if len(steps) % ROWS else lag.newest
            steps.append(Piece(now, now + stepping[k], k, acts))
    oldest = max((int(piece.number) for piece in learned), default=0)
    return Played(merged(steps), learned, oldest)


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
KINDS = (("shade", 0.35, "collects"), ("band", 0.3, "learns")) * 2


def figure() -> dict[str, Any]:
    """All frames: a limit of the lag and a kind of work each."""
    sides = {
        (most, kind): (in_turn(works), side_by_side(works, most))
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
    boxes, numbers, idle = {}, {}, []
    for i, (lane, count) in enumerate(zip(lanes(turn, beside), room, strict=True)):
        lacks = count - len(lane)
        ends = [(ACROSS(of.begin), ACROSS(min(of.end, TICKS))) for of in lane]
        ends += [(66, 66)] * lacks
        wide = [round(right - left, 1) for left, right in ends]
        words = [f"{of.number:.2g}" for of in lane] + [""] * lacks
        boxes[f"lane-{i} x"] = [left for left, _ in ends]
        boxes[f"lane-{i} width"] = wide
        numbers[f"number-{i} x"] = [round(sum(of) / 2, 1) for of in ends]
        numbers[f"number-{i} text"] = [
            word if width > 14 else "" for word, width in zip(words, wide, strict=True)
        ]
        busy = sum(min(piece.end, TICKS) - piece.begin for piece in lane)
        idle.append(1 - busy / TICKS)
    alone, done = (
        [piece for piece in of.learned if piece.end <= TICKS] for of in (turn, beside)
    )
    mean = statistics.mean(piece.number for piece in done)
    said = (
        f"max_policy_lag = {most}: {len(done)} updates, and {len(alone)} in turn. The"
        f" policy that acted is {mean:.1f} updates old on average, and {beside.oldest}"
        f" at most. The collector waits {idle[2]:.0%} of the time, the learner"
        f" {idle[3]:.0%}."
    )
    handed = "".join(f"M{ACROSS(piece.end)} 109V163" for piece in done)
    return boxes | numbers | {"handed d": handed, "says text": said}


def drawing(room: list[int]) -> str:
    """Lanes and their names."""
    parts = ""
    style = "stroke:var(--md-default-fg-color);stroke-width:0.7;fill-opacity:"
    for i, (top, count) in enumerate(zip(LANES, room, strict=True)):
        look, opacity, name = KINDS[i]
        parts += svg.label(60, top + 15, name, "end")
        lane = svg.box(f"lane-{i} {look}", "", top, "", 22, style=f"{style}{opacity}")
        number = svg.label("", top + 15, anchor="middle", class_=f"number-{i}")
        parts += (lane + number) * count
    return svg.drawn("side_by_side", lanes=parts)
