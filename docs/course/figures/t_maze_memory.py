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
ROWS = 4
"""Of the eight cells that were kept, those that differ most."""
WIDE, LEFT = 34, 92  # of a step, and of the first one, in pixels
LEVELS = [Scale(0, 1, middle, middle - 17.1) for middle in (111, 149, 187, 225)]
CHANCE = Scale(0, 1, 322, 270)
"""Axes of `t_maze_memory.svg`: of each cell, and of the chart of turns."""


def figure() -> dict[str, Any]:
    """All frames: what is done to the memory, and the network before training."""
    details = svg.measured("ppo_lstm-signpost")["runs"][0]["details"]
    return svg.figure(
        size=(480, 350),
        svg=svg.drawn("t_maze_memory"),
        controls={"memory": svg.labelled(CHOICES)},
        start=("kept",),
        frame=lambda choice: frame(details, choice),
    )


def frame(details: dict[str, Any], choice: str) -> Frame:
    """Both walks, with one change of the memory."""
    cells, turns = (walks(details, choice, name) for name in ("cells", "north"))
    known = [walks(details, any_choice, "cells") for any_choice in CHOICES]
    most = max(abs(c) for of in known for two in of for way in two for c in way[:ROWS])
    ends = [
        f"{100 * p:.0f} % where the signpost said {way}"
        for p, way in zip(turns[-1], ("north", "south"), strict=True)
    ]
    return {
        "name text": [f"cell {cell}" for cell in details["cells"][:ROWS]],
        "cell d": [
            over_steps([LEVELS[row](step[way][row] / most) for step in cells])
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


def over_steps(heights: Sequence[float]) -> str:
    """A path over the steps, from heights in pixels."""
    return svg.joined((LEFT + WIDE * t, y) for t, y in enumerate(heights))
