"""How far to imagine, and whether the model learns by itself or beside the policy."""

from collections.abc import Sequence
from typing import Any

from yieldrl.algorithms import ppo_imagined
from yieldrl.benchmarks.claim import Run, constants
from yieldrl.benchmarks.claims.imagination import goto

HORIZONS, STAGES = constants("imagination/horizons", "HORIZONS", "STAGES")
SIDES: dict[str, dict[str, Any]] = {
    **{f"horizon {h}": {"horizon": h} for h in HORIZONS},
    **{f"horizon {h}, one stage": {"horizon": h, "stages": 1} for h in STAGES},
}
CASES = [{"side": side} for side in SIDES]
SETTINGS = {**goto.WORLD, "imagined": goto.IMAGINED, "sides": SIDES}


def train(side: str, seed: int) -> dict[str, Any]:
    """As `goto` has them."""
    options = {**goto.IMAGINED, **SIDES[side]}
    return goto.improved(side, ppo_imagined, options, seed=seed)


def draw(axes: Any, runs: Sequence[Run]) -> None:
    goto.curves(axes, runs, SIDES)
