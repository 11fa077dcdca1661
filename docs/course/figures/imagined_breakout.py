"""Chapter 20's figure: a game of Breakout, as it was and as a world model imagines it.

Nothing is trained here: the boards are those of the first seed in
`docs/results/imagination-film.json`, which `benchmarks/figures/film.py` recorded.
"""

from typing import Any

from . import drawing as svg
from .drawing import Frame, Grid

SIDES = {"real": Grid(10, 18, 20, 30), "imagined": Grid(10, 18, 236, 30)}
KINDS, FAINT = "1234abcd", "abcd"
"""What can be in a cell: a channel's number, or its letter if it is there perhaps."""
SEEN = 8


def figure() -> dict[str, Any]:
    """All frames, one a step."""
    film = svg.measured("imagination-film")["runs"][0]["film"]
    steps = range(len(film["real"]))

    def frame(step: int) -> Frame:
        ahead = step - SEEN + 1
        said = "It sees the game." if ahead < 1 else f"It imagines: step {ahead} ahead."
        boards = {
            f"{name}-{kind} d": cells(film[name][step], kind, grid)
            for name, grid in SIDES.items()
            for kind in KINDS
        }
        return boards | {"says text": said}

    return svg.figure(
        size=(434, 248),
        svg=svg.drawn("imagined_breakout"),
        controls={"step": {f"{step + 1}": step for step in steps}},
        start=(f"{len(steps) - 1}",),
        frame=frame,
    )


def cells(board: str, kind: str, grid: Grid) -> str:
    """The outline of all cells of a kind, as a path."""
    inset = 6 if kind in FAINT else 2
    places = (i for i, cell in enumerate(board) if cell == kind)
    return "".join(grid.square(i, inset) for i in places)
