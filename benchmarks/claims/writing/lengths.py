"""How long answers become, with and without the division by their length."""

from collections.abc import Sequence
from typing import Any

from yieldrl.benchmarks.claim import Run, constants

from . import sums
from .sums import last, right

WORLD, CLONE, SIDES = constants("writing/lengths", "WORLD", "CLONE", "SIDES")
(FIELDS,) = constants("writing/lengths", "FIELDS")
SETTINGS = {**sums.SETTINGS, "world": WORLD, "clone": CLONE}
SETTINGS["all"] = {**sums.COMMON, **FIELDS}

__all__ = ["right"]


def train(seed: int) -> dict[str, Any]:
    return sums.from_one_clone(seed, WORLD, CLONE, list(SIDES), **FIELDS)


def length(runs: Sequence[Run]) -> list[float]:
    """Tokens of an answer at the end."""
    return last(runs, "length")


def draw(axes: Any, runs: Sequence[Run]) -> None:
    sums.draw(axes, runs, "length")
