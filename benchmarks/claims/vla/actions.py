"""One value of a chunk of actions, or one of each, from one clone."""

from collections.abc import Sequence
from typing import Any

from yieldrl.benchmarks.claim import Run, constants

from . import seeing

WORLD, CLONE, BOTH, OWN, SIDES = constants(
    "vla/actions", "WORLD", "CLONE", "BOTH", "OWN", "SIDES"
)
SETTINGS = {**WORLD, **BOTH, "clone": CLONE, "own": OWN}


def train(seed: int) -> dict[str, Any]:
    """As of `seeing`, of these sides."""
    return seeing.compared(seed, WORLD, CLONE, BOTH, OWN)


def better(runs: Sequence[Run]) -> list[float]:
    """By how much more of the episodes succeed with values of actions, seed by seed."""
    ends = ([run[side]["improved"]["success"] for run in runs] for side in SIDES)
    return [action - chunk for chunk, action in zip(*ends, strict=True)]


def draw(axes: Any, runs: Sequence[Run]) -> None:
    seeing.draw_sides(axes, runs, SIDES)
