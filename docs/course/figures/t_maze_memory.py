"""Chapter 12's figure: what a trained LSTM holds of the T-maze's signpost.

Nothing is trained here: the numbers are those of the first seed in
`docs/results/ppo_lstm-signpost.json`; `benchmarks/figures/signpost.py` measured them.
"""

from collections.abc import Sequence
from typing import Any

from . import drawing as svg
from .drawing import Frame, Scale

AT = 5
"""Observations after which the memory is changed."""
ROWS = 4
"""Of the eight cells that were kept, those that differ most."""
WIDE, LEFT = 34, 92  # of a step, and of the first one, in pixels
LEVELS = [Scale(0, 1, middle, middle - 17.1) for middle in (111, 149, 187, 225)]
CHANCE = Scale(0, 1, 322, 270)
"""Axes of `t_maze_memory.svg`: of each cell, and of the chart of turns."""


def figure() -> dict[str, Any]:
    """All frames: what is done to the memory, and the network before training.

    Of each memory is known what was measured in it, `[T][2]`: of each step and way.
    """
    details = svg.measured("ppo_lstm-signpost")["runs"][0]["details"]
    memories = {
        "kept": details["trained"],
        # The corridor looks alike in both walks: with the memory of the other, a walk
        # goes on as the other one does.
        "exchanged": {
            name: steps[:AT] + [step[::-1] for step in steps[AT:]]
            for name, steps in details["trained"].items()
        },
        "emptied": details["emptied"],
        "before training": details["untrained"],
    }
    known = [way for of in memories.values() for step in of["cells"] for way in step]
    most = max(abs(cell) for way in known for cell in way[:ROWS])

    def frame(choice: str) -> Frame:
        cells, turns = memories[choice]["cells"], memories[choice]["north"]
        ends = "At the junction it turns north in {:.0%} where the signpost said north"
        ends += " and in {:.0%} where the signpost said south."
        return {
            "name text": [f"cell {cell}" for cell in details["cells"][:ROWS]],
            "cell d": [
                over_steps([level(step[way][row] / most) for step in cells])
                for row, level in enumerate(LEVELS)
                for way in (0, 1)
            ],
            "turn d": [over_steps([CHANCE(of[way]) for of in turns]) for way in (0, 1)],
            "change visibility": svg.visible([choice in ("exchanged", "emptied")]),
            "says text": ends.format(*turns[-1]).replace("%", " %"),
        }

    return svg.figure(
        size=(480, 350),
        svg=svg.drawn("t_maze_memory"),
        controls={"memory": svg.labelled(memories)},
        start=("kept",),
        frame=frame,
    )


def over_steps(heights: Sequence[float]) -> str:
    """A path over the steps, from heights in pixels."""
    return svg.joined((LEFT + WIDE * t, y) for t, y in enumerate(heights))
