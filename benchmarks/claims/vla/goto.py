"""Does a policy do what it is told? Cloned, improved, and told what means nothing."""

from collections.abc import Sequence
from typing import Any

from yieldrl.algorithms import vla_ppo
from yieldrl.benchmarks.claim import Run, Table, mean, values
from yieldrl.benchmarks.style import INK

from .learning import GOTO, draw_success, learned, spread
from .obedience import EPISODES, TOLD, obedience
from .policies import POLICIES

CHANCE = 1 / 3  # of three objects one is rewarded
SETTINGS = {**GOTO, "episodes": EPISODES}
CASES = [{"side": side} for side in POLICIES]


def train(side: str, seed: int) -> dict[str, Any]:
    run = learned(side, vla_ppo.Config(**GOTO, seed=seed), obedience)
    return {"side": side, "seed": seed, **run}


def table(runs: Sequence[Run]) -> Table:
    rows: list[list[str]] = []
    for side in POLICIES:
        size = f"{values(runs, 'parameters', side=side)[0]:,}"
        for when, taken in (("cloned", "clone_seconds"), ("improved", "ppo_seconds")):
            found = [spread(runs, when, told, side=side) for told in TOLD]
            seconds = f"{mean(runs, taken, side=side):.0f}"
            rows.append([side, when, *found, size, seconds])
    return ["policy", "", *TOLD, "parameters", "seconds"], rows


def draw(axes: Any, runs: Sequence[Run]) -> None:
    draw_success(axes, runs, {side: side.upper() for side in POLICIES})
    label = "who does not listen, at best"
    axes.axhline(CHANCE, color=INK, linewidth=0.9, linestyle="--", label=label)
