"""A robot arm that sees: cloned from a script, then improved by PPO."""

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from yieldrl.algorithms import vla_ppo
from yieldrl.benchmarks.claim import Run
from yieldrl.benchmarks.style import COLORS, line
from yieldrl.foundations.files import read_file

from .learning import curve_of, learned, rates

EPISODES = 100
TUNED = Path(inspect.getfile(vla_ppo)).parent / "configs" / "reacher.yaml"
# the tiny model on Gymnasium's Reacher-v5, seen from above: as users get it by `yieldrl
# train vla_ppo --config vla_ppo/reacher`
REACHER: dict[str, Any] = {**read_file(TUNED), "device": "cpu", "threads": 1}

SETTINGS = {**REACHER, "episodes": EPISODES}
METRICS = {"success": "success_rate", "return": "episode_return"}
SECONDS = {"cloned": "clone_seconds", "improved": "ppo_seconds"}


def train(seed: int) -> dict[str, Any]:
    config = vla_ppo.Config(**REACHER, seed=seed)
    run = learned("vla", config, lambda trainer: rates(trainer, EPISODES, **METRICS))
    return {"side": "vla", "seed": seed, **run}


def draw(axes: Any, runs: Sequence[Run]) -> None:
    line(axes, curve_of("vision-language-action model", runs, column=2), COLORS[0])
