"""Chapter 6's figure: DQN's values with and without its two ideas.

Nothing is trained here: the lines are those of `docs/results/dqn-stability.json`,
which `benchmarks/figures/stability.py` has measured.
"""

from typing import Any

from . import drawing as svg
from .drawing import Frame, Scale

SETTINGS = ("both", "no target network", "no replay", "neither")
"""What DQN had; the lines of `replay_and_target.svg` are in this order."""
ACROSS = Scale(0, 10_000, 48, 460)
HIGH, LOW = Scale(0, 200, 184, 184 - 400 / 3), Scale(0, 120, 372, 232)


def figure() -> dict[str, Any]:
    """All frames: a seed each."""
    runs = svg.measured("dqn-stability")["runs"]
    return svg.figure(
        size=(480, 430),
        svg=svg.drawn("replay_and_target"),
        controls={"seed": {str(run["seed"]): run for run in runs}},
        start=(str(runs[0]["seed"]),),
        frame=frame,
    )


def frame(run: dict[str, Any]) -> Frame:
    """Both groups of lines, and what to say of them, for one seed."""
    numbers = run["numbers"]
    lines = {
        f"{state} d": [
            svg.curve(
                *zip(*run["series"][f"{name}, {state}"], strict=True), x=ACROSS, y=up
            )
            for name in SETTINGS
        ]
        for state, up in (("upright", HIGH), ("falling", LOW))
    }
    said = "; ".join(
        f"{name}: {numbers[f'upright, {name}']:.0f} and"
        f" {numbers[f'falling, {name}']:.0f}"
        for name in SETTINGS
    )
    text = f"Highest upright, mean falling, after 5 000 steps: {said}."
    return {**lines, "says text": text}
