"""Chapter 17's figure: a reader's algorithm beside the library's, by how many seeds.

Nothing is trained here: the runs are those of
`benchmarks/results/comparing-munchausen.json`, which `benchmarks/comparing.py` has
measured.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from yieldrl.benchmarks import comparing, results
from yieldrl.benchmarks.scores import difference, interval, iqm

COUNTS = [1, 3, 5, 10, 20]
GROUPS = ("one", "another", "a third")
SIDES = {"munchausen": "mine", "dqn": "ours"}
"""Side -> its class in the drawing."""

CAPTION = """\
DQN on CartPole (grey, dashed), and beside it what a reader of this chapter has made of
it, Munchausen DQN (red); 10 000 steps, the same seeds for both. Lines are interquartile
means in their 95&nbsp;% bootstrap intervals, over the seeds that you know. On the
right: by how much the score of the red one is higher, and the interval of that; at the
dashed line they are equal."""
LEFT, RIGHT, LOW, HIGH = 40, 330, 250, 22  # of the curves' axes, in pixels
BAR = 394  # where the difference stands
MINUS = "\N{MINUS SIGN}"
MOST = 120.0  # that the difference's axis shows, up and down


def figure() -> dict[str, Any]:
    """All frames: a number of seeds and a choice of them each."""
    path = results.FOLDER / "comparing-munchausen.json"
    runs = results.load(path)["runs"]
    shown = [
        frame([runs[i] for i in known(count, group)], GROUPS[group])
        for count in COUNTS
        for group in range(len(GROUPS))
    ]
    start = (COUNTS.index(3), 0)
    return {
        "title": "Munchausen DQN beside DQN, by the number of seeds",
        "caption": CAPTION,
        "size": (480, 292),
        "svg": drawing(shown[start[0] * len(GROUPS)]),
        "controls": {"seeds": [str(count) for count in COUNTS], "which": list(GROUPS)},
        "start": start,
        "parts": PARTS,
        "frames": shown,
    }


def known(count: int, group: int) -> np.ndarray:
    """Which seeds one knows: so many, drawn without replacement."""
    return np.sort(np.random.default_rng(group).permutation(comparing.SEEDS)[:count])


PARTS = [
    (".band-mine", "d"),
    (".band-ours", "d"),
    (".line-mine", "d"),
    (".line-ours", "d"),
    (".between", "d"),
    (".apart", "cy"),
    (".says", "text"),
]


def frame(runs: list[dict[str, Any]], group: str) -> list[Any]:
    """The values of `PARTS`, for those who know these runs."""
    bands, lines = [], []
    for side in SIDES:
        curves = np.array([run["curves"][side] for run in runs])[..., 1].T
        low, high = interval(curves)
        bands.append(f"M{'L'.join(points(high) + points(low)[::-1])}Z")
        lines.append(f"M{'L'.join(points(iqm(curves)))}")
    of = {side: comparing.scores(runs, side) for side in SIDES}
    apart, low, high = map(float, difference(of["munchausen"], of["dqn"]))
    count = len(runs)
    bar = f"M{BAR} {level(low)}V{level(high)}" if count > 1 else ""
    seeds = "1 seed" if count == 1 else f"{count} seeds"
    told = f", 95 % interval {low:+.0f} to {high:+.0f}: {comparing.decision(low, high)}"
    silent = "; nothing says how far to trust it"
    return [
        *bands,
        *lines,
        bar,
        level(apart),
        f"{seeds}, group {group}: Munchausen DQN {iqm(of['munchausen']):.0f}, DQN"
        f" {iqm(of['dqn']):.0f}, difference {apart:+.0f}"
        f"{told if count > 1 else silent}.".replace("-", MINUS),
    ]


def drawing(first: list[Any]) -> str:
    """Axes and all parts, as the first frame has them."""
    band_mine, band_ours, mine, ours, between, apart, _ = first
    across = "".join(
        f'<path class="axis" d="M{x} {LOW}v4"/>'
        f'<text x="{x}" y="{LOW + 18}" text-anchor="middle">{name}</text>'
        for x, name in (
            (wide(k / 10), f"{k} 000" if k else "0") for k in range(0, 11, 5)
        )
    )
    up = "".join(
        f'<path class="axis" d="M{LEFT} {tall(y)}h-4"/>'
        f'<text x="{LEFT - 7}" y="{tall(y) + 4}" text-anchor="end">{y}</text>'
        for y in (0, 250, 500)
    )
    beside = "".join(
        f'<path class="axis" d="M{BAR + 40} {level(y)}h4"/>'
        f'<text x="{BAR + 47}" y="{level(y) + 4}">{mark}</text>'
        for y, mark in ((MOST, f"+{MOST:g}"), (0, "0"), (-MOST, f"{MINUS}{MOST:g}"))
    )
    return (
        f'<path class="axis" d="M{LEFT} {HIGH}V{LOW}H{RIGHT}"/>{across}{up}'
        f'<text x="{(LEFT + RIGHT) // 2}" y="{LOW + 36}" text-anchor="middle">steps'
        f'</text><text x="{LEFT + 8}" y="{HIGH - 6}">return of evaluations</text>'
        f'<path class="band-ours band" d="{band_ours}"/>'
        f'<path class="band-mine band" style="fill:var(--md-accent-fg-color)"'
        f' d="{band_mine}"/>'
        f'<path class="line-ours ink line dashed" d="{ours}"/>'
        f'<path class="line-mine red line" d="{mine}"/>'
        f'<path class="axis" d="M{BAR + 40} {HIGH}V{LOW}"/>{beside}'
        f'<text x="{BAR}" y="{HIGH - 6}" text-anchor="middle">difference</text>'
        f'<path class="axis dashed" d="M{BAR - 40} {level(0)}h80"/>'
        f'<path class="between line blue wide" d="{between}"/>'
        f'<circle class="apart dot" style="fill-opacity:1" cx="{BAR}" cy="{apart:g}"'
        ' r="6"/>'
    )


def points(values: np.ndarray) -> list[str]:
    """Pixels of values at all evaluations, which are equally far apart."""
    count = len(values)
    return [
        f"{wide((k + 1) / count):g} {tall(float(y)):g}" for k, y in enumerate(values)
    ]


def wide(share: float) -> float:
    """Pixels of a share of all steps."""
    return round(LEFT + (RIGHT - LEFT) * share, 1)


def tall(value: float) -> float:
    """Pixels of a return."""
    return round(LOW - (LOW - HIGH) * value / 500, 1)


def level(apart: float) -> float:
    """Pixels of a difference; what is far off is just outside."""
    share = min(max(apart / MOST, -1.05), 1.05)
    return round((LOW + HIGH) / 2 - (LOW - HIGH) / 2 * share, 1)
