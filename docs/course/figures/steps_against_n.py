"""Chapter 13's second figure: steps per second against the number of environments.

Nothing is timed here: the points are those of `docs/results/worlds-*.json`. The
line of each world of tensors is fitted to them: a step of N environments takes a + b N.
"""

import math
from typing import Any

import numpy as np

from . import drawing as svg
from .drawing import Frame, Scale

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
FLOOR, CEILING = 316, 30  # of the axes, in pixels
ACROSS, UP = Scale(0, 16, 60, 466), Scale(2, 8, FLOOR, CEILING)
"""Powers of two of N, and powers of ten of steps per second."""


def figure() -> dict[str, Any]:
    """All frames: a world and a number of environments each."""
    sides = {world: measured(world) for world in WORLDS}
    return svg.figure(
        size=(500, FLOOR + 40),
        svg=drawing(),
        controls={"world": sides, "N": {spaced(n): n for n in SIZES}},
        start=("CartPole", spaced(1024)),
        frame=frame,
    )


def measured(world: str) -> dict[str, dict[int, float]]:
    """Side -> environments -> seconds of a step of them all."""
    name, single = WORLDS[world]
    points = svg.measured(f"worlds-{name}")["points"]
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


def frame(sides: dict[str, dict[int, float]], size: int) -> Frame:
    """One world and one N."""
    now = ACROSS(math.log2(size))
    return {
        "curve d": [speeds(of, fit="yieldrl" in side) for side, of in sides.items()],
        "point d": [
            "".join(diamond(n, n / s) for n, s in of.items()) for of in sides.values()
        ],
        "now d": f"M{now} {CEILING}V{FLOOR}",
        "says text": said(sides, size),
    }


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


def speeds(seconds: dict[int, float], *, fit: bool) -> str:
    """The fit as a smooth line, or the points joined."""
    if not seconds:
        return ""
    known = [(n, n / s) for n, s in seconds.items()]
    if fit:
        overhead, each = fitted(seconds)
        known = [(n, n / (overhead + each * n)) for n in 4.0 ** np.arange(0, 8.1, 0.25)]
    return svg.joined((ACROSS(math.log2(n)), UP(math.log10(s))) for n, s in known)


def diamond(size: int, speed: float) -> str:
    """A diamond at a point."""
    x, y = ACROSS(math.log2(size)), UP(math.log10(speed))
    return f"M{x} {y - 3.5}l3.5 3.5l-3.5 3.5l-3.5-3.5z"


def drawing() -> str:
    """Axes, lines and points."""
    lines = "".join(
        svg.line(f"curve {look} line")
        + svg.line(f"point {look.split()[0]} line", style="stroke-width:1.5")
        for look in LOOKS.values()
    )
    sizes = {math.log2(n): spaced(n) for n in SIZES if n != 4096}
    names = ("100", "1 000", "10 000", "100 000", "1 M", "10 M", "100 M")
    looks = {look: side for side, look in LOOKS.items()}
    return svg.parts(
        svg.x_axis(ACROSS, FLOOR, sizes, "environments, N"),
        svg.y_axis(UP, 60, dict(enumerate(names, 2))),
        svg.label(68, CEILING + 12, "environment steps per second"),
        svg.legend(16, looks, (60, 152, 300)),
        svg.line("now axis dotted"),
        lines,
    )
