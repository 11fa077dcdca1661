"""Chapter 15's figure: collector and learner on a timeline, in turn and side by side.

Who waits for whom is worked out in `timeline.py`, with the library's own bookkeeping.
"""

from __future__ import annotations

import statistics
from typing import Any

from .timeline import LAGS, TICKS, WORKS, Piece, Played, SideBySide, in_turn

CAPTION = """\
Above, one after the other; below, a collector in the background. In the lanes of
<em>collects</em> a box is a rollout, and the number the policy that acts in it; in
those of <em>learns</em> it is the lag: how many newer policies there are when the
rollout is learned from. Dotted: the learner hands over its weights. Where a lane is
empty, somebody waits."""
LEFT, RIGHT = 66, 472  # of the time, in pixels
LANES = (24, 50, 112, 138)  # upper edges
TALL = 22


def figure() -> dict[str, Any]:
    """All frames: a limit of the lag and a kind of work each."""
    sides = {
        (most, kind): (in_turn(works), SideBySide(works, most).play())
        for most in LAGS
        for kind, works in WORKS.items()
    }
    room = [
        max(len(shown(lanes(*pair)[i])) for pair in sides.values()) for i in range(4)
    ]
    frames = [frame(*pair, most, room) for (most, _), pair in sides.items()]
    start = (1, 1)
    return {
        "title": "Collecting and learning on a timeline, in turn and side by side",
        "caption": CAPTION,
        "size": (480, 190),
        "svg": drawing(frames[start[0] * len(WORKS) + start[1]], room),
        "controls": {
            "max_policy_lag": [str(lag) for lag in LAGS],
            "collecting : learning": list(WORKS),
        },
        "start": start,
        "parts": PARTS,
        "frames": frames,
    }


PARTS = [
    *((f".lane-{i}", name) for i in range(4) for name in ("x", "width")),
    *((f".number-{i}", name) for i in range(4) for name in ("x", "text")),
    (".handed", "d"),
    (".says", "text"),
]


def lanes(turn: Played, beside: Played) -> list[list[Piece]]:
    """The four lanes, from above."""
    return [turn.collected, turn.learned, beside.collected, beside.learned]


def shown(lane: list[Piece]) -> list[Piece]:
    """What lies in the time that is shown."""
    return [piece for piece in lane if piece.begin < TICKS]


def frame(turn: Played, beside: Played, most: int, room: list[int]) -> list[Any]:
    """The values of `PARTS`; each lane has so many boxes, and hides what it lacks."""
    boxes, numbers = [], []
    for lane, count in zip(lanes(turn, beside), room, strict=True):
        seen = shown(lane)
        left = [across(piece.begin) for piece in seen]
        right = [across(min(piece.end, TICKS)) for piece in seen]
        spare = count - len(seen)
        wide = [round(b - a, 1) for a, b in zip(left, right, strict=True)]
        boxes += [[*left, *[LEFT] * spare], [*wide, *[0] * spare]]
        middle = [round((a + b) / 2, 1) for a, b in zip(left, right, strict=True)]
        words = [
            f"{piece.number:.2g}" if w > 14 else ""
            for piece, w in zip(seen, wide, strict=True)
        ]
        numbers += [[*middle, *[LEFT] * spare], [*words, *[""] * spare]]
    top = LANES[2]
    handed = "".join(
        f"M{across(piece.end)} {top - 3}V{top + 51}" for piece in finished(beside)
    )
    return [*boxes, *numbers, handed, said(turn, beside, most)]


def finished(of: Played) -> list[Piece]:
    """The updates that are done by the end."""
    return [piece for piece in of.learned if piece.end <= TICKS]


def said(turn: Played, beside: Played, most: int) -> str:
    """A frame in words."""
    done = finished(beside)
    rest = [idle(shown(lane)) for lane in (beside.collected, beside.learned)]
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


def drawing(first: list[Any], room: list[int]) -> str:
    """Lanes, their names, and all boxes as the first frame has them."""
    parts = []
    for i, top in enumerate(LANES):
        (left, wide), (middle, words) = (
            first[2 * i : 2 * i + 2],
            first[8 + 2 * i : 10 + 2 * i],
        )
        look = "shade" if i % 2 == 0 else "band"
        opacity = 0.35 if i % 2 == 0 else 0.3
        name = ("collects", "learns")[i % 2]
        parts.append(
            f'<text x="{LEFT - 6}" y="{top + 15}" text-anchor="end">{name}</text>'
        )
        parts += [
            f'<rect class="lane-{i} {look}" style="stroke:var(--md-default-fg-color);'
            f'stroke-width:0.7;fill-opacity:{opacity}" x="{left[k]}" y="{top}"'
            f' width="{wide[k]}" height="{TALL}"/><text class="number-{i}"'
            f' x="{middle[k]}" y="{top + 15}" text-anchor="middle">{words[k]}</text>'
            for k in range(room[i])
        ]
    titles = "".join(
        f'<text x="{LEFT}" y="{y}" font-weight="600">{text}</text>'
        for y, text in ((16, "in turn"), (104, "side by side"))
    )
    return (
        f'{titles}{"".join(parts)}<path class="handed red line dotted"'
        f' style="stroke-width:1.4" d="{first[16]}"/>'
        f'<path class="axis" d="M{LEFT} 170H{RIGHT}m-6 -4l6 4l-6 4"/>'
        f'<text x="{RIGHT}" y="186" text-anchor="end">time</text>'
    )


def across(tick: float) -> float:
    """Pixels of a tick."""
    return round(LEFT + (RIGHT - LEFT - 4) * tick / TICKS, 1)
