"""Chapter 15's figure: collector and learner on a timeline, in turn and side by side.

When each of them waits is worked out in `timeline.py`, with the library's bookkeeping.
"""

from __future__ import annotations

import statistics
from typing import Any

from . import drawing as svg
from .drawing import Frame, Scale
from .timeline import LAGS, TICKS, WORKS, Piece, Played, SideBySide, in_turn

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
