"""Chapter 15's second figure: what PPO returns that learns from an older policy.

Nothing is trained here: the numbers are those of
`benchmarks/results/collecting-lag.json`, which `benchmarks/trials/lag.py` has measured.
"""

from __future__ import annotations

import statistics
from typing import Any

from yieldrl.benchmarks import results
from yieldrl.benchmarks.trials.corrections import CORRECTIONS
from yieldrl.benchmarks.trials.lag import LAGS, of

KINDS = {"at the end": False, "along training": True}
"""What is shown -> whether it is the mean of all evaluations of a run."""
DASHES = ("2 4", "none", "6 4", "8 3 2 3")
SAYS = {
    "none": "the older policy is taken for that of now",
    "clip": "the ratio starts from the policy that acted",
    "gipo": "the ratio starts there too, with a smooth weight for a clip",
    "vtrace": "advantages are corrected, and the ratio starts from the policy of now",
}
CAPTION = """\
PPO on CartPole, 60 000 steps. Each rollout is collected by the policy of so many
updates ago. Red: the correction that is chosen, a dot for each of five seeds and their
mean. Thin: the means of the other three."""
LEFT, RIGHT, LOW, HIGH = 48, 452, 236, 22  # of the axes, in pixels


def figure() -> dict[str, Any]:
    """All frames: a correction and a kind of return each."""
    runs = results.load(results.FOLDER / "collecting-lag.json")["runs"]
    shown = [frame(runs, name, kind) for name in CORRECTIONS for kind in KINDS]
    start = (CORRECTIONS.index("none"), 0)
    return {
        "title": "What PPO returns, over the age of the policy that collected",
        "caption": CAPTION,
        "size": (480, 280),
        "svg": drawing(shown[start[0] * len(KINDS)], len(runs)),
        "controls": {"correction": list(CORRECTIONS), "return": list(KINDS)},
        "start": start,
        "parts": PARTS,
        "frames": shown,
    }


PARTS = [
    (".other", "d"),
    (".chosen", "d"),
    (".seed", "cx"),
    (".seed", "cy"),
    (".tag", "y"),
    (".tag", "font-weight"),
    (".says", "text"),
]


def frame(runs: list[dict[str, Any]], name: str, kind: str) -> list[Any]:
    """The values of `PARTS` for a correction and a kind of return."""
    means = {c: mean(runs, c, kind) for c in CORRECTIONS}
    others = ["" if c == name else path(means[c]) for c in CORRECTIONS]
    dots = [
        (across(lag) + 3 * (i - 2), up(y))
        for lag in LAGS
        for i, y in enumerate(of(runs, name, lag, along=KINDS[kind]))
    ]
    tags = spaced([up(means[c][-1]) + 4 for c in CORRECTIONS])
    weights = ["700" if c == name else "400" for c in CORRECTIONS]
    told = ", ".join(
        f"{y:.0f} at a lag of {lag}" for lag, y in zip(LAGS, means[name], strict=True)
    )
    said = f"{name}: {SAYS[name]}. Return {kind}: {told}."
    xs, ys = (list(column) for column in zip(*dots, strict=True))
    return [others, path(means[name]), xs, ys, tags, weights, said]


def mean(runs: list[dict[str, Any]], correction: str, kind: str) -> list[float]:
    """Means over the seeds, for every lag."""
    return [
        statistics.mean(of(runs, correction, lag, along=KINDS[kind])) for lag in LAGS
    ]


def drawing(first: list[Any], count: int) -> str:
    """Axes and all parts, as the first frame has them."""
    others, chosen, xs, ys, tags, weights, _ = first
    marks = "".join(
        f'<path class="axis" d="M{across(lag)} {LOW}v4"/><text x="{across(lag)}"'
        f' y="{LOW + 18}" text-anchor="middle">{lag}</text>'
        for lag in LAGS
    )
    heights = "".join(
        f'<path class="axis" d="M{LEFT} {up(y)}h-4"/><text x="{LEFT - 7}"'
        f' y="{up(y) + 4}" text-anchor="end">{y}</text>'
        for y in (0, 250, 500)
    )
    lines = "".join(
        f'<path class="other ink line" style="stroke-width:1;stroke-dasharray:{dash}"'
        f' d="{d}"/>'
        for dash, d in zip(DASHES, others, strict=True)
    )
    dots = "".join(
        f'<circle class="seed dot" cx="{x}" cy="{y}" r="3"/>'
        for x, y in zip(xs, ys, strict=True)
    )
    names = "".join(
        f'<text class="tag" x="{across(LAGS[-1]) + 12}" y="{y}" font-weight="{weight}">'
        f"{name}</text>"
        for name, y, weight in zip(CORRECTIONS, tags, weights, strict=True)
    )
    middle = (LEFT + across(LAGS[-1])) / 2
    named = (
        f'<text x="{LEFT + 8}" y="{HIGH - 8}">return of deterministic episodes</text>'
        f'<text x="{middle}" y="{LOW + 38}" text-anchor="middle">updates since the'
        " policy that collected</text>"
    )
    return (
        f'<path class="axis" d="M{LEFT} {HIGH}V{LOW}H{across(LAGS[-1]) + 8}"/>'
        f"{marks}{heights}{named}{lines}"
        f'<path class="chosen red line" d="{chosen}"/>{dots}{names}'
    )


def spaced(ys: list[float], apart: float = 13.0) -> list[float]:
    """Heights of names, moved down until none lies on another."""
    placed: list[float] = []
    for y in sorted(ys):
        placed.append(max([y, *(last + apart for last in placed[-1:])]))
    order = sorted(range(len(ys)), key=lambda i: ys[i])
    return [round(placed[order.index(i)], 1) for i in range(len(ys))]


def path(ys: list[float]) -> str:
    """A line over all lags."""
    points = zip(LAGS, ys, strict=True)
    return "M" + "L".join(f"{across(lag)} {up(y)}" for lag, y in points)


def across(lag: float) -> float:
    """Pixels of a lag."""
    return round(LEFT + 18 + (RIGHT - 70 - LEFT) * lag / LAGS[-1], 1)


def up(value: float) -> float:
    """Pixels of a return."""
    return round(LOW - (LOW - HIGH) * value / 500, 1)
