"""A robot arm that sees: cloned from a script, then improved by PPO."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yieldrl.algorithms import vla_ppo
from yieldrl.benchmarks.style import COLORS, line
from yieldrl.benchmarks.trials import Options, Run, Trial, Verdict
from yieldrl.benchmarks.trials.trial import Table, at_least, each
from yieldrl.foundations.files import read_file

from .learning import curve_of, learned, mean, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EPISODES = 100

TUNED = Path(inspect.getfile(vla_ppo)).parent / "configs" / "reacher.yaml"

REACHER: dict[str, Any] = {**read_file(TUNED), "device": "cpu", "threads": 1}
"""The tiny model on Gymnasium's Reacher-v5, seen from above: as users get it by
`yieldrl train vla_ppo --config vla_ppo/reacher`."""


def look(trainer: Any) -> dict[str, float]:
    """Success rate and return of the policy."""
    logs = trainer.evaluate(EPISODES, seed=20_000)["logs"]
    named = {"success": "success_rate", "return": "episode_return"}
    return {name: round(float(logs[key]), 4) for name, key in named.items()}


def train(seed: int) -> dict[str, Any]:
    """One seed, cloned and improved, in this process."""
    config = vla_ppo.Config(**REACHER, seed=seed)
    return {"side": "vla", "seed": seed, **learned("vla", config, look)}


def measure(options: Options) -> list[dict[str, Any]]:
    """Every seed."""
    cases = [{"seed": seed} for seed in range(1, options.seeds + 1)]
    return each(train, cases, options.jobs)


def judge(runs: Sequence[Run]) -> list[Verdict]:
    """PPO improves what was cloned."""
    gained = mean(runs, "improved", "return") - mean(runs, "cloned", "return")
    share = mean(runs, "improved", "success") - mean(runs, "cloned", "success")
    return [
        at_least("return gained by PPO", gained, 0.0),
        at_least("success gained by PPO", share, 0.0),
    ]


def table(runs: Sequence[Run]) -> Table:
    """Success and return before and after PPO."""
    rows: list[list[str]] = []
    for when, taken in (("cloned", "clone_seconds"), ("improved", "ppo_seconds")):
        found = [spread(runs, when, name) for name in ("success", "return")]
        rows.append([when, *found, f"{mean(runs, taken):.0f}"])
    return ["policy", "success", "return", "seconds"], rows


def fill(axes: Axes, runs: Sequence[Run]) -> None:
    """Returns against steps; the clone is the first point."""
    line(axes, curve_of("vision-language-action model", runs, column=2), COLORS[0])
    axes.set_title("Reacher-v5 seen as images")
    axes.set_xlabel("environment steps, the expert's included")
    axes.set_ylabel("return of deterministic episodes")


TRIAL = Trial(
    statement="A robot arm that sees its target in a picture: cloned from a script,"
    " then improved by PPO.",
    measure=measure,
    judge=judge,
    table=table,
    fill=fill,
    settings={**REACHER, "episodes": EPISODES},
)
