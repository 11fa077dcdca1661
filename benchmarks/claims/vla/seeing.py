"""Without a critic or with one, from one clone, rewarded for nothing but success."""

import time
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from yieldrl.algorithms import vla_grpo, vla_ppo
from yieldrl.benchmarks.claim import Run, constants
from yieldrl.benchmarks.style import COLORS, line

from .learning import cloned, curve_of, look

WORLD, CLONE, BOTH, GRPO, PPO = constants(
    "vla/seeing", "WORLD", "CLONE", "BOTH", "GRPO", "PPO"
)
SETTINGS = {**WORLD, **BOTH, "clone": CLONE, "grpo": GRPO, "ppo": PPO}
SIDES: dict[str, tuple[Any, dict[str, Any]]]
SIDES = {"grpo": (vla_grpo, GRPO), "ppo": (vla_ppo, PPO)}


def train(seed: int) -> dict[str, Any]:
    """A clone, and what both make of it in as many steps of the environments."""
    weights, first = cloned(vla_ppo.Config(**WORLD, **CLONE, seed=seed), look)
    run = {side: improved(side, weights, seed) for side in SIDES}
    return {"seed": seed, "cloned": first, **run}


def improved(side: str, weights: dict[str, Tensor], seed: int) -> dict[str, Any]:
    """`curve` has rows of step, success rate, entropy, share of informative groups, 0
    without groups, and seconds of collecting and learning; `begin` is the first."""
    module, options = SIDES[side]
    curve: list[tuple[float, ...]] = []
    logged, seconds = {"grpo/informative_groups": 0.0}, 0.0
    with module.Trainer(module.Config(**WORLD, **BOTH, **options, seed=seed)) as own:
        own.model.load_state_dict(weights)
        begin = time.perf_counter()
        for log in own():
            now = time.perf_counter()
            if log["log_type"] == "evaluate":
                success = float(log["logs"]["success_rate"])
                said = (logged[name] for name in ("entropy", "grpo/informative_groups"))
                numbers = (success, *said, seconds)
                curve.append((log["sample_step"], *(round(x, 4) for x in numbers)))
            else:
                seconds += now - begin
            if log["log_type"] == "train":
                logged |= {k: float(v) for k, v in log["logs"].items()}
            begin = time.perf_counter()
        names = "step", "success", "entropy", "informative", "seconds"
        ends = {"begin": curve[0], "end": curve[-1]}
        found = {k: dict(zip(names, row, strict=True)) for k, row in ends.items()}
        return {**found, "improved": look(own), "curve": curve}


def draw(axes: Any, runs: Sequence[Run]) -> None:
    for color, side in zip(COLORS, SIDES, strict=False):
        line(axes, curve_of(f"vla_{side}", [run[side] for run in runs]), color)
