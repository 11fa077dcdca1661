"""Chapter 13's second figure: steps per second against the number of environments.

Nothing is timed here: the points are those of `benchmarks/results/worlds-*.json`. The
line of each world of tensors is fitted to them: a step of N environments takes a + b N.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from yieldrl.benchmarks import results

WORLDS = {
    "CartPole": ("cartpole", "Gymnasium, Sync"),
    "Pendulum": ("pendulum", "Gymnasium, Sync"),
    "Breakout": ("minatar-breakout", "minatar, N copies"),
    "Seaquest": ("minatar-seaquest", "minatar, N copies"),
    "HalfCheetah": ("half_cheetah", "Gymnasium, Sync"),
}
"""World -> its result, and the side that steps one environment after the other."""
SIZES = (1, 16, 256, 1024, 4096, 16384, 65536)
LOOKS = {
    "yieldrl": "red",
    "yieldrl, compiled": "blue dashed",
    "one after the other": "ink dotted",
}
CAPTION = """\
Points: medians of five runs, with random actions and no agent, on a Xeon; Seaquest and
HalfCheetah on two threads, the others on one. Lines of batches: a step of all takes
<em>a + bN</em>, with the <em>a</em> and <em>b</em> that fit best. Both axes are
logarithmic: equal ways are equal factors."""
LEFT, RIGHT, FLOOR, CEILING = 60, 466, 316, 30  # of the axes, in pixels
LOWEST, HIGHEST = 2, 8  # powers of ten of steps per second


def figure() -> dict[str, Any]:
    """All frames: a world and a number of environments each."""
    sides = {world: measured(world) for world in WORLDS}
    shown = [frame(sides[world], size) for world in WORLDS for size in SIZES]
    start = (0, SIZES.index(1024))
    return {
        "title": "Steps per second against the number of environments",
        "caption": CAPTION,
        "size": (500, FLOOR + 40),
        "svg": drawing(shown[start[1]]),
        "controls": {"world": list(WORLDS), "N": [spaced(n) for n in SIZES]},
        "start": start,
        "parts": PARTS,
        "frames": shown,
    }


PARTS = [(".curve", "d"), (".point", "d"), (".now", "d"), (".says", "text")]


def measured(world: str) -> dict[str, dict[int, float]]:
    """Side -> environments -> seconds of a step of them all."""
    name, single = WORLDS[world]
    points = results.load(results.FOLDER / f"worlds-{name}.json")["points"]
    names = dict(zip(LOOKS, ("yieldrl", "yieldrl, compiled", single), strict=True))
    return {
        side: {
            point["num_envs"]: point["num_envs"] / of[known]["steps_per_second"]
            for point in points
            if known in (of := point["sides"])
        }
        for side, known in names.items()
    }


def fitted(seconds: dict[int, float]) -> tuple[float, float]:
    """The overhead a and the b of every environment with which `a + b N` fits best.

    Errors count in shares of what was measured, so that small N matter as much.
    """
    sizes, times = np.array(list(seconds.items())).T
    columns = np.stack((1 / times, sizes / times), axis=1)
    (overhead, each), *_ = np.linalg.lstsq(columns, np.ones(len(times)), rcond=None)
    return float(overhead), float(each)


def frame(sides: dict[str, dict[int, float]], size: int) -> list[Any]:
    """The values of `PARTS` for one world and one N."""
    curves, points = [], []
    for side, seconds in sides.items():
        tensors = side.startswith("yieldrl")
        curves.append(line(seconds, fit=tensors) if seconds else "")
        points.append("".join(f"{dot(n, n / s)}" for n, s in seconds.items()))
    return [curves, points, f"M{across(size)} {CEILING}V{FLOOR}", said(sides, size)]


def said(sides: dict[str, dict[int, float]], size: int) -> str:
    """What a step of N costs on each side, and what the fit of tensors says."""
    parts = [
        f"{side} {number(1e6 * seconds[size] / size)} µs"
        for side, seconds in sides.items()
        if size in seconds
    ]
    overhead, each = fitted(sides["yieldrl"])
    return (
        f"N = {spaced(size)}, a step of one: {'; '.join(parts)}. Fit of yieldrl:"
        f" a = {number(1e6 * overhead)} µs, b = {number(1e6 * each)} µs."
    )


def number(value: float) -> str:
    """Two digits that count, with spaces between thousands."""
    if value >= 100:
        digits = 2 - math.ceil(math.log10(value))
        return spaced(round(round(value, digits)))
    return f"{value:.2g}"


def spaced(count: int) -> str:
    """A whole number, with spaces between thousands."""
    return f"{count:,}".replace(",", "\N{NO-BREAK SPACE}")


def line(seconds: dict[int, float], *, fit: bool) -> str:
    """The fit as a smooth line, or the points joined."""
    if not fit:
        return joined([(n, n / s) for n, s in seconds.items()])
    overhead, each = fitted(seconds)
    sizes = 4.0 ** np.arange(0, 8.1, 0.25)
    return joined([(n, n / (overhead + each * n)) for n in sizes])


def joined(points: Sequence[tuple[float, float]]) -> str:
    """A line through environments and steps per second."""
    return "M" + "L".join(f"{across(n)} {up(speed)}" for n, speed in points)


def dot(size: int, speed: float) -> str:
    """A diamond at a point."""
    return f"M{across(size)} {up(speed) - 3.5}l3.5 3.5l-3.5 3.5l-3.5-3.5z"


def drawing(first: list[Any]) -> str:
    """Axes, and all parts as the first frame has them."""
    curves, points, now, _ = first
    lines = "".join(
        f'<path class="curve {look} line" d="{curve}"/>'
        f'<path class="point {look.split()[0]} line" style="stroke-width:1.5"'
        f' d="{point}"/>'
        for look, curve, point in zip(LOOKS.values(), curves, points, strict=True)
    )
    marks = "".join(
        f'<path class="axis" d="M{across(n)} {FLOOR}v4"/><text x="{across(n)}"'
        f' y="{FLOOR + 16}" text-anchor="middle">{spaced(n)}</text>'
        for n in SIZES
        if n != 4096
    )
    names = ("100", "1 000", "10 000", "100 000", "1 M", "10 M", "100 M")
    heights = "".join(
        f'<path class="axis" d="M{LEFT} {up(10**power)}h-4"/>'
        f'<text x="{LEFT - 7}" y="{up(10**power) + 4}" text-anchor="end">{name}</text>'
        for power, name in enumerate(names, LOWEST)
    )
    legend = "".join(
        f'<path class="{look} line" d="M{x} 12h26"/>'
        f'<text x="{x + 32}" y="16">{name}</text>'
        for x, (name, look) in zip((60, 152, 300), LOOKS.items(), strict=True)
    )
    return (
        f'<path class="axis" d="M{LEFT} {CEILING}V{FLOOR}H{RIGHT}"/>{marks}{heights}'
        f'<text x="{LEFT + 8}" y="{CEILING + 12}">environment steps per second</text>'
        f'<text x="{(LEFT + RIGHT) / 2}" y="{FLOOR + 34}" text-anchor="middle">'
        f"environments, N</text>{legend}"
        f'<path class="now axis dotted" d="{now}"/>{lines}'
    )


def across(size: float) -> float:
    """Pixels of a number of environments."""
    share = math.log(size) / math.log(SIZES[-1])
    return round(LEFT + (RIGHT - LEFT) * share, 1)


def up(speed: float) -> float:
    """Pixels of steps per second."""
    share = (math.log10(speed) - LOWEST) / (HIGHEST - LOWEST)
    return round(FLOOR - (FLOOR - CEILING) * share, 1)
