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
ACROSS, UP = Scale(0, 16, 60, 466), Scale(2, 8, 316, 30)
"""Powers of two of N, and powers of ten of steps per second."""


def figure() -> dict[str, Any]:
    """All frames: a world and a number of environments each."""
    sides = {world: measured(*of) for world, of in WORLDS.items()}
    return svg.figure(
        size=(500, 356),
        svg=svg.drawn("steps_against_n"),
        controls={"world": sides, "N": {spaced(n): n for n in SIZES}},
        start=("CartPole", spaced(1024)),
        frame=frame,
    )


def measured(name: str, single: str) -> dict[str, dict[int, float]]:
    """Side -> environments -> seconds of a step of them all."""
    sides = {"yieldrl": {}, "yieldrl, compiled": {}, single: {}}
    for point in svg.measured(f"worlds-{name}")["points"]:
        size = point["num_envs"]
        for side, of in point["sides"].items():
            if side in sides:
                sides[side][size] = size / of["steps_per_second"]
    sides["one after the other"] = sides.pop(single)
    return sides


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
    overhead, each = fitted(sides["yieldrl"])
    cost = "; ".join(
        f"{side} {number(1e6 * seconds[size] / size)} µs"
        for side, seconds in sides.items()
        if size in seconds
    )
    return {
        "curve d": [speeds(of, fit="yieldrl" in side) for side, of in sides.items()],
        "point d": [
            "".join(f"M{x} {y - 3.5}l3.5 3.5l-3.5 3.5l-3.5-3.5z" for x, y in places(of))
            for of in sides.values()
        ],
        "now d": f"M{ACROSS(math.log2(size))} {UP.end}V{UP.begin}",
        "says text": f"N = {spaced(size)}, a step of one: {cost}. Fit of yieldrl:"
        f" a = {number(1e6 * overhead)} µs, b = {number(1e6 * each)} µs.",
    }


def number(value: float) -> str:
    """Two digits that count, with spaces between thousands."""
    if value >= 100:
        return spaced(round(round(value, 2 - math.ceil(math.log10(value)))))
    return f"{value:.2g}"


def spaced(count: int) -> str:
    """A whole number, with spaces between thousands."""
    return f"{count:,}".replace(",", "\N{NO-BREAK SPACE}")


def speeds(seconds: dict[int, float], *, fit: bool) -> str:
    """The fit as a smooth line, or the points joined."""
    if not seconds:
        return ""
    if fit:
        overhead, each = fitted(seconds)
        sizes = 4.0 ** np.arange(0, 8.1, 0.25)
        seconds = {n: overhead + each * n for n in sizes}
    return svg.joined(places(seconds))


def places(seconds: dict[Any, float]) -> list[tuple[float, float]]:
    """Pixels of N and of the steps per second."""
    return [(ACROSS(math.log2(n)), UP(math.log10(n / s))) for n, s in seconds.items()]
