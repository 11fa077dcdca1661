"""Chapter 14's figure: six silent bugs in PPO, each beside PPO as it is.

Nothing is trained here: the lines are those of
`benchmarks/results/debugging-cartpole.json`, which `benchmarks/debugging.py` has
measured.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple

from yieldrl.benchmarks import results

Line = Sequence[Sequence[float]]
"""Points `[step, reading]`."""


class Reading(NamedTuple):
    """What a panel can show: its name in the results, its axis, and how to say it."""

    name: str
    marks: tuple[float, float, float]  # low, middle and high
    places: int  # after the decimal point, in words
    says: str
    when: str = "At the end"


READINGS = {
    "return": Reading("return", (0, 250, 500), 0, "Return of ten evaluation episodes"),
    "promise": Reading(
        "promised",
        (-60, 0, 60),
        0,
        "The value of the upright pole, less what episodes earned",
    ),
    "entropy": Reading("entropy", (0, 0.35, 0.7), 2, "Entropy of the policy, in nats"),
    "approx_kl": Reading(
        "approx_kl",
        (0, 0.01, 0.02),
        4,
        "How far an update moves the policy, in nats",
        "Over the whole run",
    ),
    "explained variance": Reading(
        "explained_variance",
        (-1, 0, 1),
        1,
        "Share of the returns' variance that the critic explains",
    ),
}
"""What the buttons are called -> what they show."""
FOLDERS = tuple(f"broken_{number:02}" for number in range(1, 7))
STEPS = 30_720
WIDE, TALL = 128, 96  # of a panel, in pixels
CAPTION = """\
PPO on CartPole with six bugs, one in each panel; five seeds each. Red: the bug. Grey
and dashed: PPO as it is, all of its seeds and their mean. At the dotted line every run
was stopped, saved, and went on from what was saved. Lines may leave their panel."""


def figure() -> dict[str, Any]:
    """All frames: a reading each."""
    runs = results.load(results.FOLDER / "debugging-cartpole.json")["runs"]
    shown = [frame(runs, name) for name in READINGS]
    return {
        "title": "Six silent bugs in PPO, beside PPO as it is",
        "caption": CAPTION,
        "size": (480, 304),
        "svg": drawing(shown[0]),
        "controls": {"reading": list(READINGS)},
        "start": (0,),
        "parts": PARTS,
        "frames": shown,
    }


PARTS = [
    (".band", "d"),
    (".mean", "d"),
    (".bug", "d"),
    (".mark", "text"),
    (".says", "text"),
]


def frame(runs: list[dict[str, Any]], name: str) -> list[Any]:
    """The values of `PARTS` for one reading."""
    reading = READINGS[name]
    right = lines(runs, "right", reading)
    bugs = {folder: lines(runs, folder, reading) for folder in FOLDERS}
    band, mean, bug = [], [], []
    for place, of in enumerate(bugs.values()):
        low, high, middle = spread(right)
        edge = points(high, reading, place) + points(low, reading, place)[::-1]
        band.append(f"M{'L'.join(edge)}Z")
        mean.append(path(middle, reading, place))
        bug += [path(line, reading, place) for line in of]
    marks = [f"{mark:g}" for mark in reversed(reading.marks)] * 2
    found = {"PPO": right} | {folder[-2:]: of for folder, of in bugs.items()}
    said = "; ".join(
        f"{shown}: {number(said_of(of, reading), reading)}"
        for shown, of in found.items()
    )
    return [band, mean, bug, marks, f"{reading.says}. {reading.when}: {said}."]


def said_of(of: list[Line], reading: Reading) -> float:
    """The mean over all seeds, of the lines' ends or of all their points."""
    at_the_end = reading.when == "At the end"
    kept = [line[-1:] if at_the_end else line for line in of]
    return statistics.mean(y for line in kept for _, y in line)


def lines(runs: list[dict[str, Any]], folder: str, reading: Reading) -> list[Line]:
    """The lines of all seeds."""
    return [run["series"][f"{folder}, {reading.name}"] for run in runs]


def spread(of: list[Line]) -> tuple[Line, Line, Line]:
    """Lowest, highest and mean of some lines, at the steps that all of them have."""
    known = [{(step, i): y for i, (step, y) in enumerate(line)} for line in of]
    if len({len(line) for line in of}) > 1:  # some have no episode between two looks
        known = [{(step, 0): y for step, y in line} for line in of]
    common = sorted(set.intersection(*map(set, known)))
    columns = [(step, [line[step, i] for line in known]) for step, i in common]
    return (
        [[step, min(column)] for step, column in columns],
        [[step, max(column)] for step, column in columns],
        [[step, statistics.mean(column)] for step, column in columns],
    )


def drawing(first: list[Any]) -> str:
    """Panels with axes, and all lines as the first frame has them."""
    band, mean, bug, marks, _ = first
    parts = []
    for place, folder in enumerate(FOLDERS):
        x, y = corner(place)
        middle = x + WIDE / 2
        parts += [
            f'<clipPath id="panel-{place}"><rect x="{x}" y="{y - 2}" width="{WIDE}"'
            f' height="{TALL + 4}"/></clipPath>',
            f'<text x="{x}" y="{y - 6}">{folder}</text>',
            f'<path class="axis" d="M{x} {y}V{y + TALL}h{WIDE}"/>',
            f'<path class="axis dotted" d="M{middle} {y}v{TALL}"/>',
            f'<g clip-path="url(#panel-{place})">',
            f'<path class="band" d="{band[place]}"/>',
            *(
                f'<path class="bug red line" style="stroke-width:1.3" d="{d}"/>'
                for d in bug[5 * place : 5 * place + 5]
            ),
            f'<path class="mean ink line dashed" style="stroke-width:1.3"'
            f' d="{mean[place]}"/></g>',
        ]
    for row in range(2):
        x, y = corner(3 * row)
        parts += [
            f'<path class="axis" d="M{x} {y + of}h-4"/><text class="mark" x="{x - 6}"'
            f' y="{y + of + 4}" text-anchor="end">{marks[3 * row + i]}</text>'
            for i, of in enumerate((0, TALL / 2, TALL))
        ]
    for column in range(3):
        x, y = corner(3 + column)
        parts += [
            f'<path class="axis" d="M{x + of} {y + TALL}v4"/><text x="{x + of}"'
            f' y="{y + TALL + 16}" text-anchor="{anchor}">{text}</text>'
            for of, anchor, text in (
                (0, "start", "0"),
                (WIDE / 2, "middle", "steps"),
                (WIDE, "end", "30 000"),
            )
        ]
    return "".join(parts)


def corner(place: int) -> tuple[int, int]:
    """The upper left corner of a panel, in pixels."""
    return 40 + place % 3 * (WIDE + 14), 24 + place // 3 * (TALL + 40)


def path(line: Line, reading: Reading, place: int) -> str:
    """A line in a panel."""
    return f"M{'L'.join(points(line, reading, place))}"


def points(line: Line, reading: Reading, place: int) -> list[str]:
    """Pixels of a line's points; what is far outside is just outside."""
    x, y = corner(place)
    low, _, high = reading.marks
    pixels = []
    for step, value in line:
        share = min(max((value - low) / (high - low), -0.2), 1.2)
        across = round(x + WIDE * min(step / STEPS, 1), 1)
        pixels.append(f"{across:g} {round(y + TALL * (1 - share), 1):g}")
    return pixels


def number(value: float, reading: Reading) -> str:
    """A number in words; no minus before a zero."""
    text = f"{value:.{reading.places}f}"
    return text.lstrip("-") if float(text) == 0 else text
