"""A robot arm that sees: cloned from a script, then improved by PPO."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from yieldrl.algorithms import vla_ppo
from yieldrl.benchmarks.claim import Run, Table, Verdict, at_least, mean
from yieldrl.benchmarks.style import COLORS, line
from yieldrl.foundations.files import read_file

from .learning import curve_of, learned, rates, spread

EPISODES = 100
TUNED = Path(inspect.getfile(vla_ppo)).parent / "configs" / "reacher.yaml"
REACHER: dict[str, Any] = {**read_file(TUNED), "device": "cpu", "threads": 1}
"""The tiny model on Gymnasium's Reacher-v5, seen from above: as users get it by
`yieldrl train vla_ppo --config vla_ppo/reacher`."""

SETTINGS = {**REACHER, "episodes": EPISODES}
METRICS = {"success": "success_rate", "return": "episode_return"}


def train(seed: int) -> dict[str, Any]:
    """One seed, cloned and improved, in this process."""
    config = vla_ppo.Config(**REACHER, seed=seed)
    run = learned("vla", config, lambda trainer: rates(trainer, EPISODES, **METRICS))
    return {"side": "vla", "seed": seed, **run}


def judge(runs: Sequence[Run]) -> list[Verdict]:
    """PPO improves what was cloned."""
    return [
        at_least(
            f"{name} gained by PPO",
            mean(runs, "improved", name) - mean(runs, "cloned", name),
            0.0,
        )
        for name in ("return", "success")
    ]


def table(runs: Sequence[Run]) -> Table:
    """Success and return before and after PPO."""
    rows = [
        [
            when,
            *(spread(runs, when, name) for name in METRICS),
            f"{mean(runs, taken):.0f}",
        ]
        for when, taken in (("cloned", "clone_seconds"), ("improved", "ppo_seconds"))
    ]
    return ["policy", *METRICS, "seconds"], rows


def draw(axes: Any, runs: Sequence[Run]) -> None:
    """Returns against steps; the clone is the first point."""
    line(axes, curve_of("vision-language-action model", runs, column=2), COLORS[0])
