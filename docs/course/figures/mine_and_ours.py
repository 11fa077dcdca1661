"""Chapter 17's figure: a reader's algorithm beside the library's, by how many seeds.

Nothing is trained here: the runs are those of `docs/results/comparing-munchausen.json`,
which `benchmarks/figures/munchausen.py` has measured.
"""

from typing import Any

import numpy as np

from yieldrl.benchmarks.scores import difference, interval, iqm

from . import drawing as svg
from .drawing import Frame, Scale
from .seed_fan import GROUPS, SILENT, counted, drawn_seeds, fan

COUNTS = [1, 3, 5, 10, 20]
SIDES = {"munchausen": "mine", "dqn": "ours"}
"""Side -> its class in `mine_and_ours.svg`, whose axes are these."""
ACROSS, UP = Scale(0, 1, 40, 330), Scale(0, 500, 250, 22)
DIFFERENCE = Scale(-120, 120, 250, 22)


def figure() -> dict[str, Any]:
    """All frames: a number of seeds and a choice of them each."""
    runs = svg.measured("comparing-munchausen")["runs"]

    def shown(count: int, group: int) -> Frame:
        seeds = np.sort(drawn_seeds(len(runs), count, group))
        return frame([runs[i] for i in seeds], GROUPS[group])

    return svg.figure(
        size=(480, 292),
        svg=svg.drawn("mine_and_ours"),
        controls={
            "seeds": svg.labelled(COUNTS),
            "which": {name: i for i, name in enumerate(GROUPS)},
        },
        start=("3", "one"),
        frame=shown,
    )


def frame(runs: list[dict[str, Any]], group: str) -> Frame:
    """What is known from some runs."""
    count, bands, lines = len(runs), {}, {}
    for side, name in SIDES.items():
        curves = np.array([run["curves"][side] for run in runs])[..., 1].T
        steps = np.arange(1, len(curves) + 1) / len(curves)
        bands[f"band-{name} d"], lines[f"line-{name} d"] = fan(
            steps, interval(curves), iqm(curves), ACROSS, UP
        )
    of = {side: np.array([run["scores"][side] for run in runs]) for side in SIDES}
    apart, low, high = map(float, difference(of["munchausen"], of["dqn"]))
    decision = "better" if low > 0 else "worse" if high < 0 else "not decided"
    told = f", 95 % interval {low:+.0f} to {high:+.0f}: {decision}"
    said = (
        f"{counted(count)}, group {group}: Munchausen DQN {iqm(of['munchausen']):.0f},"
        f" DQN {iqm(of['dqn']):.0f}, difference {apart:+.0f}"
        f"{told if count > 1 else SILENT}."
    )
    # What is far off is just outside.
    at, begin, end = (DIFFERENCE(min(max(x, -126), 126)) for x in (apart, low, high))
    return {
        **bands,
        **lines,
        "between d": f"M394 {begin}V{end}" if count > 1 else "",
        "apart cy": at,
        "says text": svg.minus(said),
    }
