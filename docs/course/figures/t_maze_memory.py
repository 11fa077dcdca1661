"""Chapter 12's figure: what a trained LSTM holds of the T-maze's signpost.

Nothing is trained here: the numbers are those of the first seed in
`docs/results/ppo_lstm-signpost.json`; `benchmarks/figures/signpost.py`
measured them.
"""

from collections.abc import Sequence
from typing import Any

from . import drawing as svg
from .drawing import Frame, Scale

CHOICES = ("kept", "exchanged", "emptied", "before training")
AT = 5
"""Observations after which the memory is changed."""
WAYS = ("north", "south")
ROWS = 4
"""Of the eight cells that were kept, those that differ most."""
WIDE, LEFT = 34, 92  # of a step, and of the first one, in pixels
BOTTOM = 322  # of the chart of turns
CHANCE = Scale(0, 1, BOTTOM, BOTTOM - 52)


def figure() -> dict[str, Any]:
    """All frames: what is done to the memory, and the network before training."""
    details = svg.measured("ppo_lstm-signpost")["runs"][0]["details"]
    return svg.figure(
        size=(480, 350),
        svg=drawing(details["cells"][:ROWS], len(details["trained"]["cells"]) - 1),
        controls={"memory": svg.labelled(CHOICES)},
        start=("kept",),
        frame=lambda choice: frame(details, choice),
    )


def frame(details: dict[str, Any], choice: str) -> Frame:
    """Both walks, with one change of the memory."""
    cells, turns = (walks(details, choice, name) for name in ("cells", "north"))
    most = largest(details)
    ends = [
        f"{100 * p:.0f} % where the signpost said {way}"
        for p, way in zip(turns[-1], WAYS, strict=True)
    ]
    return {
        "cell d": [
            over_steps([level(row)(step[way][row] / most) for step in cells])
            for row in range(ROWS)
            for way in (0, 1)
        ],
        "turn d": [over_steps([CHANCE(step[way]) for step in turns]) for way in (0, 1)],
        "change visibility": svg.visible([choice in ("exchanged", "emptied")]),
        "says text": f"At the junction it turns north in {' and in '.join(ends)}.",
    }


def walks(details: dict[str, Any], choice: str, name: str) -> list[Any]:
    """What was measured, `[T][2]`: of each step and way.

    The corridor looks alike in both walks. So with the memory of the other, a walk goes
    on as the other one does.
    """
    if choice == "before training":
        return details["untrained"][name]
    if choice == "emptied":
        return details["emptied"][name]
    steps = details["trained"][name]
    if choice == "exchanged":
        return steps[:AT] + [step[::-1] for step in steps[AT:]]
    return steps


def largest(details: dict[str, Any]) -> float:
    """The largest number in any of the cells that are shown."""
    known = [walks(details, choice, "cells") for choice in CHOICES]
    return max(
        abs(c) for of in known for step in of for way in step for c in way[:ROWS]
    )


def drawing(cells: Sequence[int], last: int) -> str:
    """The maze, the rows of cells and the chart of turns."""
    start, end = across(0), across(last)
    both = svg.line("{0} blue line") + svg.line("{0} red line dashed")  # the two walks
    rows = "".join(
        svg.line("axis dotted", f"M{start} {level(row)(0)}H{end}")
        + svg.label(start - 12, f"{level(row)(0) + 4:g}", f"cell {cell}", "end")
        + both.format("cell")
        for row, cell in enumerate(cells)
    )
    heights = "".join(
        svg.label(start - 12, f"{CHANCE(p) + 4:g}", text, "end")
        for p, text in ((1, "north"), (0.5, "50 %"), (0, "south"))
    )
    return svg.parts(
        maze(end),
        rows,
        svg.line("axis", f"M{start} {BOTTOM - 52}v52H{end}"),
        svg.line("axis dotted", f"M{start} {CHANCE(0.5):g}H{end}"),
        both.format("turn"),
        heights,
        svg.label(start, BOTTOM + 18, "signpost"),
        svg.label(end, BOTTOM + 18, "nine steps later", "end"),
        svg.line("change ink dotted", f"M{across(AT) - WIDE / 2:g} 84V{BOTTOM}"),
    )


def maze(end: int) -> str:
    """The corridor, over the steps at which its cells are seen, and the junction."""
    x, y, side = across(0) - WIDE // 2, 30, WIDE
    turn = end + side // 2
    walls = f"M{x} {y}H{turn}v-26h{side}v{side + 52}h-{side}v-26H{x}z"
    signs = svg.label(x + 6, y + 22, "N or S") + svg.label(
        end + side, y + 22, "?", "middle"
    )
    return svg.line("axis", walls) + signs


def over_steps(heights: Sequence[float]) -> str:
    """A path over the steps, from heights in pixels."""
    return svg.joined((across(t), y) for t, y in enumerate(heights))


def across(step: int) -> int:
    """Pixels of a step."""
    return LEFT + WIDE * step


def level(row: int) -> Scale:
    """Pixels of numbers from -1 to 1 in the row of a cell."""
    middle = 92 + 38 * (row + 0.5)
    return Scale(0, 1, middle, middle - 0.45 * 38)
