"""Chapter 12's figure: what a trained LSTM holds of the T-maze's signpost.

Nothing is trained here: the numbers are those of the first seed in
`benchmarks/results/ppo_lstm-signpost.json`; `benchmarks/signpost.py` measured them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from yieldrl.benchmarks import results

CHOICES = ("kept", "exchanged", "emptied", "before training")
AT = 5
"""Observations after which the memory is changed."""
WAYS = ("north", "south")
ROWS = 4
"""Of the eight cells that were kept, those that differ most."""
LEFT, WIDE = 92, 34  # of the first step's middle, and of a step, in pixels
TOP, TALL = 92, 38  # of the first cell's row, and of a row
BOTTOM, HIGH = 270, 52  # of the chart of turns: its upper edge, and its height
CAPTION = """\
Two walks through the T-maze, side by side: in one the signpost says north (blue, drawn
through), in the other south (red, dashed). They differ in what is seen at the first
step and in nothing else. Rows: the four of 64 cells that end most apart, on one
scale; dotted is 0. Below: how probably it would turn north and not south, if the
junction came next. At the upright line the memory is changed. One network, the first of
five seeds; every point was measured."""


def figure() -> dict[str, Any]:
    """All frames: what is done to the memory, and the network before training."""
    path = results.FOLDER / "ppo_lstm-signpost.json"
    details = results.load(path)["runs"][0]["details"]
    shown = [frame(details, choice) for choice in CHOICES]
    return {
        "title": "Cells of an LSTM along the T-maze, for both signposts",
        "caption": CAPTION,
        "size": (480, 350),
        "svg": drawing(details["cells"][:ROWS], shown[0]),
        "controls": {"memory": list(CHOICES)},
        "start": (0,),
        "parts": PARTS,
        "frames": shown,
    }


PARTS = [(".cell", "d"), (".turn", "d"), (".change", "visibility"), (".says", "text")]


def frame(details: dict[str, Any], choice: str) -> list[Any]:
    """The values of `PARTS`."""
    cells, turns = (walks(details, choice, name) for name in ("cells", "north"))
    most = largest(details)
    lines = [
        line([level(row, step[way][row] / most) for step in cells])
        for row in range(ROWS)
        for way in (0, 1)
    ]
    below = [line([chance(step[way]) for step in turns]) for way in (0, 1)]
    ends = [
        f"{100 * p:.0f} % where the signpost said {way}"
        for p, way in zip(turns[-1], WAYS, strict=True)
    ]
    says = f"At the junction it turns north in {' and in '.join(ends)}."
    shown = choice in ("exchanged", "emptied")
    return [lines, below, "visible" if shown else "hidden", says]


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


def drawing(cells: Sequence[int], first: list[Any]) -> str:
    """The maze, the rows of cells and the chart, as the first frame has them."""
    lines, turns, visible, _ = first
    end = across(lines[0].count("L"))
    parts = [maze(end)]
    for row, cell in enumerate(cells):
        y = level(row, 0)
        parts.append(
            f'<path class="axis dotted" d="M{across(0)} {y}H{end}"/>'
            f'<text x="{across(0) - 12}" y="{y + 4:g}" text-anchor="end">'
            f"cell {cell}</text>{strokes(lines[2 * row : 2 * row + 2], 'cell')}"
        )
    parts.append(
        f'<path class="axis" d="M{across(0)} {BOTTOM}v{HIGH}H{end}"/>'
        f'<path class="axis dotted" d="M{across(0)} {BOTTOM + HIGH / 2:g}H{end}"/>'
        + strokes(turns, "turn")
        + "".join(
            f'<text x="{across(0) - 12}" y="{chance(p) + 4:g}" text-anchor="end">'
            f"{text}</text>"
            for p, text in ((1, "north"), (0.5, "50 %"), (0, "south"))
        )
        + f'<text x="{across(0)}" y="{BOTTOM + HIGH + 18}">signpost</text>'
        f'<text x="{end}" y="{BOTTOM + HIGH + 18}" text-anchor="end">'
        "nine steps later</text>"
    )
    at = across(AT) - WIDE / 2
    parts.append(
        f'<path class="change ink dotted" visibility="{visible}"'
        f' d="M{at:g} {TOP - 8}V{BOTTOM + HIGH}"/>'
    )
    return "".join(parts)


def maze(end: int) -> str:
    """The corridor, over the steps at which its cells are seen, and the junction."""
    x, y, side = across(0) - WIDE // 2, 30, WIDE
    turn = end + side // 2
    return (
        f'<path class="axis" d="M{x} {y}H{turn}v-26h{side}v{side + 52}h-{side}'
        f'v-26H{x}z"/>'
        f'<text x="{x + 6}" y="{y + 22}">N or S</text>'
        f'<text x="{end + side}" y="{y + 22}" text-anchor="middle">?</text>'
    )


def strokes(lines: Sequence[str], name: str) -> str:
    """The lines of both walks."""
    looks = ("blue line", "red line dashed")
    return "".join(
        f'<path class="{name} {look}" d="{d}"/>'
        for look, d in zip(looks, lines, strict=True)
    )


def line(heights: Sequence[float]) -> str:
    """A path over the steps, from heights in pixels."""
    return f"M{'L'.join(f'{across(t)} {y:g}' for t, y in enumerate(heights))}"


def across(step: int) -> int:
    """Pixels of a step."""
    return LEFT + WIDE * step


def level(row: int, value: float) -> float:
    """Pixels of a number from -1 to 1 in the row of a cell."""
    return round(TOP + TALL * (row + 0.5 - 0.45 * value), 1)


def chance(p: float) -> float:
    """Pixels of a probability."""
    return round(BOTTOM + HIGH * (1 - p), 1)
