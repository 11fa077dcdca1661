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
THINGS = {"1": "blue", "2": "red", "3": "axis", "4": "ink"}
"""Number of a channel -> how a cell of it looks."""
FAINT = dict(zip("abcd", THINGS.values(), strict=True))
"""Letter of what is there perhaps -> how its cell looks, smaller."""
LOOKS = THINGS | FAINT
SEEN = 8


def figure() -> dict[str, Any]:
    """All frames, one a step."""
    runs = svg.measured("imagination-film")["runs"]
    return drawn(runs[0]["film"])


def drawn(film: dict[str, Sequence[str]]) -> dict[str, Any]:
    """The figure of a film: boards `[T]` of each side, a number for every cell."""
    steps = range(len(film["real"]))
    return svg.figure(
        size=(LEFT + 23 * CELL, TOP + 11 * CELL + 20),
        svg=boards(),
        controls={"step": svg.labelled([step + 1 for step in steps])},
        start=(f"{len(steps) - 1}",),
        frame=lambda step: frame(film, step - 1),
    )


def boards() -> str:
    """Two empty boards, and a path for every kind of thing on each."""
    edge = SIZE * CELL
    return svg.parts(
        *(
            svg.label(x + edge / 2, TOP - 10, name, "middle")
            + svg.box("axis", x, TOP, edge, edge)
            + "".join(
                svg.line(f"{name}-{kind} {look} line") for kind, look in LOOKS.items()
            )
            for name, x in SIDES.items()
        ),
        svg.label(LEFT, TOP + edge + 24, class_="says"),
    )


def frame(film: dict[str, Sequence[str]], step: int) -> Frame:
    """Both boards at a step, from 0 on."""
    ahead = step - SEEN + 1
    said = "It sees the game." if ahead < 1 else f"It imagines: step {ahead} ahead."
    return {
        **{
            f"{name}-{kind} d": cells(film[name][step], kind, x)
            for name, x in SIDES.items()
            for kind in LOOKS
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
