"""Chapter 15's second figure: what PPO returns that learns from an older policy.

Nothing is trained here: the numbers are those of `docs/results/collecting-lag.json`,
which `benchmarks/figures/lag.py` has measured.
"""

import statistics
from typing import Any

from . import drawing as svg
from .drawing import Frame, Scale

CORRECTIONS = ("none", "clip", "gipo", "vtrace")
LAGS = (0, 1, 2, 4, 8)
KINDS = {"at the end": False, "along training": True}
"""What is shown -> whether it is the mean of all evaluations of a run."""
SAYS = {
    "none": "the older policy is taken for that of now",
    "clip": "the ratio starts from the policy that acted",
    "gipo": "the ratio starts there too, with a smooth weight for a clip",
    "vtrace": "advantages are corrected, and the ratio starts from the policy of now",
}
across, up = Scale(0, LAGS[-1], 66, 400), Scale(0, 500, 236, 22)


def figure() -> dict[str, Any]:
    """All frames: a correction and a kind of return each."""
    runs = svg.measured("collecting-lag")["runs"]
    count = len(LAGS) * len({run["seed"] for run in runs})
    return svg.figure(
        size=(480, 280),
        svg=svg.drawn("lag_return", dots=svg.dot("seed dot", r=3) * count),
        controls={
            "correction": svg.labelled(CORRECTIONS),
            "return": svg.labelled(KINDS),
        },
        start=("none", "at the end"),
        frame=lambda name, kind: frame(runs, name, kind),
    )


def frame(runs: list[dict[str, Any]], name: str, kind: str) -> Frame:
    """A correction and a kind of return."""
    returns = {c: [[] for _ in LAGS] for c in CORRECTIONS}
    for run in runs:
        mean = statistics.mean(y for _, y in run["curve"])
        shown = mean if KINDS[kind] else run["final"]
        returns[run["correction"]][LAGS.index(run["lag"])].append(shown)
    means = {c: [*map(statistics.mean, by_lag)] for c, by_lag in returns.items()}
    lines = {c: svg.curve(LAGS, means[c], across, up) for c in CORRECTIONS}
    told = ", ".join(
        f"{y:.0f} at a lag of {lag}" for lag, y in zip(LAGS, means[name], strict=True)
    )
    dots = [
        (across(lag) + 3 * (i - 2), up(y))
        for lag, seeds in zip(LAGS, returns[name], strict=True)
        for i, y in enumerate(seeds)
    ]
    return {
        "other d": ["" if c == name else lines[c] for c in CORRECTIONS],
        "chosen d": lines[name],
        "seed cx": [x for x, _ in dots],
        "seed cy": [y for _, y in dots],
        "tag y": spaced([up(means[c][-1]) + 4 for c in CORRECTIONS]),
        "tag font-weight": ["700" if c == name else "400" for c in CORRECTIONS],
        "says text": f"{name}: {SAYS[name]}. Return {kind}: {told}.",
    }


def spaced(ys: list[float], apart: float = 13.0) -> list[float]:
    """Heights of names, moved down until none lies on another."""
    placed, last = ys.copy(), -apart
    for i in sorted(range(len(ys)), key=ys.__getitem__):
        placed[i] = last = max(ys[i], last + apart)
    return [round(y, 1) for y in placed]
