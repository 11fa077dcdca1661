"""Chapter 14's figure: six silent bugs in PPO, each beside PPO as it is.

Nothing is trained here: the lines are those of `docs/results/debugging-cartpole.json`,
which `benchmarks/figures/debugging.py` has measured.
"""

import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple

from . import drawing as svg
from .drawing import Frame, Scale

Line = Sequence[tuple[float, float]]
"""Points `[step, reading]`."""


class Reading(NamedTuple):
    """What a panel can show: its name in the results, its axis, and how to say it."""

    name: str
    marks: tuple[float, float, float]  # low, middle and high
    places: int  # after the decimal point, in words
    says: str
    when: str = "At the end"


KL = "How far an update moves the policy, in nats"
PROMISE = "The value of the upright pole, less what episodes earned"
EXPLAINED = "Share of the returns' variance that the critic explains"
READINGS = {
    "return": Reading("return", (0, 250, 500), 0, "Return of ten evaluation episodes"),
    "promise": Reading("promised", (-60, 0, 60), 0, PROMISE),
    "entropy": Reading("entropy", (0, 0.35, 0.7), 2, "Entropy of the policy, in nats"),
    "approx_kl": Reading("approx_kl", (0, 0.01, 0.02), 4, KL, "Over the whole run"),
    "explained variance": Reading("explained_variance", (-1, 0, 1), 1, EXPLAINED),
}
"""What the buttons are called -> what they show."""
FOLDERS = {"PPO": "right"} | {f"{n:02}": f"broken_{n:02}" for n in range(1, 7)}
STEPS = 30_720
WIDE, TALL = 128, 96  # of a panel of `six_bugs.svg`, in pixels


def figure() -> dict[str, Any]:
    """All frames: a reading each."""
    runs = svg.measured("debugging-cartpole")["runs"]
    return svg.figure(
        size=(480, 304),
        svg=svg.drawn("six_bugs"),
        controls={"reading": READINGS},
        start=("return",),
        frame=lambda reading: frame(runs, reading),
    )


def frame(runs: list[dict[str, Any]], reading: Reading) -> Frame:
    """All panels for one reading."""
    found = {
        key: [run["series"][f"{folder}, {reading.name}"] for run in runs]
        for key, folder in FOLDERS.items()
    }
    right, *bugs = found.values()
    low, high, mean = spread(right)
    bands, means, lines = [], [], []
    for place, bug in enumerate(bugs):
        edges = [*points(high, reading, place), *points(low, reading, place)[::-1]]
        bands.append(f"{svg.joined(edges)}Z")
        means.append(svg.joined(points(mean, reading, place)))
        lines += [svg.joined(points(line, reading, place)) for line in bug]
    said = "; ".join(
        f"{key}: {average(of, reading):z.{reading.places}f}"
        for key, of in found.items()
    )
    return {
        "band d": bands,
        "mean d": means,
        "bug d": lines,
        "mark text": [f"{mark:g}" for mark in reversed(reading.marks)] * 2,
        "says text": f"{reading.says}. {reading.when}: {said}.",
    }


def average(of: list[Line], reading: Reading) -> float:
    """The mean over all seeds, of the lines' ends or of all their points."""
    at_the_end = reading.when == "At the end"
    kept = [line[-1:] if at_the_end else line for line in of]
    return statistics.mean(y for line in kept for _, y in line)


def spread(of: list[Line]) -> list[Line]:
    """Lowest, highest and mean of some lines, at the steps that all of them have."""
    known = [{(step, i): y for i, (step, y) in enumerate(line)} for line in of]
    if len({len(line) for line in of}) > 1:  # some have no episode between two looks
        known = [{(step, 0): y for step, y in line} for line in of]
    common = sorted(set.intersection(*map(set, known)))
    columns = [(step, [line[step, i] for line in known]) for step, i in common]
    return [
        [(step, of_all(column)) for step, column in columns]
        for of_all in (min, max, statistics.mean)
    ]


def points(of: Line, reading: Reading, place: int) -> list[tuple[float, float]]:
    """Pixels of a line's points; what is far outside is just outside."""
    x, y = 40 + place % 3 * (WIDE + 14), 24 + place // 3 * (TALL + 40)
    low, _, high = reading.marks
    across, up = Scale(0, STEPS, x, x + WIDE), Scale(low, high, y + TALL, y)
    edge = 0.2 * (high - low)
    return [
        (across(min(step, STEPS)), up(min(max(value, low - edge), high + edge)))
        for step, value in of
    ]
