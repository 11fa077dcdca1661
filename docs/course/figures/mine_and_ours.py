"""Chapter 17's figure: a reader's algorithm beside the library's, by how many seeds.

Nothing is trained here: the runs are those of
`docs/results/comparing-munchausen.json`, which
`benchmarks/figures/munchausen.py` has measured.
"""

from typing import Any

import numpy as np

from yieldrl.benchmarks.scores import difference, interval, iqm

from . import drawing as svg
from .drawing import Frame, Scale
from .seed_fan import GROUPS, SILENT, counted, drawn_seeds, fan

COUNTS = [1, 3, 5, 10, 20]
SIDES = {"munchausen": "mine", "dqn": "ours"}
"""Side -> its class in the drawing."""

ACROSS, UP = Scale(0, 1, 40, 330), Scale(0, 500, 250, 22)
DIFFERENCE = Scale(-120, 120, 250, 22)
BAR = 394  # where the difference stands


def figure() -> dict[str, Any]:
    """All frames: a number of seeds and a choice of them each."""
    runs = svg.measured("comparing-munchausen")["runs"]

    def shown(count: int, group: int) -> Frame:
        seeds = np.sort(drawn_seeds(len(runs), count, group))
        return frame([runs[i] for i in seeds], GROUPS[group])

    return svg.figure(
        size=(480, 292),
        svg=drawing(),
        controls={
            "seeds": svg.labelled(COUNTS),
            "which": {name: i for i, name in enumerate(GROUPS)},
        },
        start=("3", "one"),
        frame=shown,
    )


def frame(runs: list[dict[str, Any]], group: str) -> Frame:
    """What is known from some runs."""
    bands, lines = {}, {}
    for side, name in SIDES.items():
        curves = np.array([run["curves"][side] for run in runs])[..., 1].T
        steps = np.arange(1, len(curves) + 1) / len(curves)
        band, mean = fan(steps, interval(curves), iqm(curves), ACROSS, UP)
        bands[f"band-{name} d"], lines[f"line-{name} d"] = band, mean
    of = {side: np.array([run["scores"][side] for run in runs]) for side in SIDES}
    apart, low, high = map(float, difference(of["munchausen"], of["dqn"]))
    count = len(runs)
    decision = "better" if low > 0 else "worse" if high < 0 else "not decided"
    told = f", 95 % interval {low:+.0f} to {high:+.0f}: {decision}"
    said = (
        f"{counted(count)}, group {group}: Munchausen DQN {iqm(of['munchausen']):.0f},"
        f" DQN {iqm(of['dqn']):.0f}, difference {apart:+.0f}"
        f"{told if count > 1 else SILENT}."
    )
    return {
        **bands,
        **lines,
        "between d": f"M{BAR} {level(low)}V{level(high)}" if count > 1 else "",
        "apart cy": level(apart),
        "says text": svg.minus(said),
    }


def level(apart: float) -> float:
    """Pixels of a difference; what is far off is just outside."""
    return DIFFERENCE(min(max(apart, -126), 126))


def drawing() -> str:
    """Axes, lines and the difference."""
    beside = "".join(
        svg.line("axis", f"M434 {level(y)}h4")
        + svg.label(441, level(y) + 4, svg.minus(mark))
        for y, mark in ((120, "+120"), (0, "0"), (-120, "-120"))
    )
    steps = {k / 10: f"{k} 000" if k else "0" for k in range(0, 11, 5)}
    red = "fill:var(--md-accent-fg-color)"
    return svg.parts(
        svg.x_axis(ACROSS, 250, steps, "steps"),
        svg.y_axis(UP, 40, (0, 250, 500), "return of evaluations"),
        svg.line("band-ours band"),
        svg.line("band-mine band", style=red),
        svg.lines("line-ours ink line dashed", "line-mine red line"),
        svg.line("axis", "M434 22V250"),
        beside,
        svg.label(BAR, 16, "difference", "middle"),
        svg.line("axis dashed", f"M{BAR - 40} {level(0)}h80"),
        svg.line("between line blue wide"),
        svg.dot("apart dot", BAR, r=6, style="fill-opacity:1"),
    )
