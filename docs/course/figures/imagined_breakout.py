"""Chapter 20's figure: a game of Breakout, as it was and as a world model imagines it.

Nothing is trained here: the boards are those of the first seed in
`docs/results/imagination-film.json`, which
`benchmarks/figures/film.py` recorded.
"""

from collections.abc import Sequence
from typing import Any

from . import drawing as svg
from .drawing import Frame

CELL, SIZE, LEFT, TOP = 18, 10, 20, 30  # pixels; cells of a side
SIDES = {"real": LEFT, "imagined": LEFT + 12 * CELL}
KINDS, FAINT = "1234abcd", "abcd"
"""What can be in a cell: a channel's number, or its letter if it is there perhaps."""
SEEN = 8


def figure() -> dict[str, Any]:
    """All frames, one a step."""
    film = svg.measured("imagination-film")["runs"][0]["film"]
    steps = range(len(film["real"]))
    return svg.figure(
        size=(LEFT + 23 * CELL, TOP + 11 * CELL + 20),
        svg=svg.drawn("imagined_breakout"),
        controls={"step": {f"{step + 1}": step for step in steps}},
        start=(f"{len(steps) - 1}",),
        frame=lambda step: frame(film, step),
    )


def frame(film: dict[str, Sequence[str]], step: int) -> Frame:
    """Both boards at a step, from 0 on."""
    ahead = step - SEEN + 1
    said = "It sees the game." if ahead < 1 else f"It imagines: step {ahead} ahead."
    return {
        **{
            f"{name}-{kind} d": cells(film[name][step], kind, x)
            for name, x in SIDES.items()
            for kind in KINDS
        },
        "says text": said,
    }


def cells(board: str, kind: str, left: int) -> str:
    """The outline of all cells of a kind, as a path."""
    edge = 6 if kind in FAINT else 2
    inner = CELL - 2 * edge
    places = (divmod(i, SIZE) for i, cell in enumerate(board) if cell == kind)
    return "".join(
        f"M{left + x * CELL + edge} {TOP + y * CELL + edge}h{inner}v{inner}h-{inner}z"
        for y, x in places
    )
