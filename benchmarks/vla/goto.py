"""Does a policy do what it is told? Cloned, improved, and told what means nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from yieldrl.algorithms import vla_ppo
from yieldrl.benchmarks.style import COLORS, INK
from yieldrl.benchmarks.trials import Options, Run, Trial, Verdict
from yieldrl.benchmarks.trials.trial import Table, at_least, at_most, each

from .learning import GOTO, draw_success, learned, mean, of_side, spread
from .obedience import EPISODES, TOLD, obedience
from .policies import POLICIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CHANCE = 1 / 3
"""Of three objects one is rewarded."""

WORDS = {
    "vla": "VLA",
    "cnn": "CNN",
    "mlp": "MLP",
}


def train(side: str, seed: int) -> dict[str, Any]:
    """One policy, cloned and improved, in this process."""
    run = learned(side, vla_ppo.Config(**GOTO, seed=seed), obedience)
    return {"side": side, "seed": seed, **run}


def measure(options: Options) -> list[dict[str, Any]]:
    """Every policy and seed."""
    seeds = range(1, options.seeds + 1)
    cases = [{"side": side, "seed": seed} for seed in seeds for side in POLICIES]
    return each(train, cases, options.jobs)


def judge(runs: Sequence[Run]) -> list[Verdict]:
    """The instruction matters to the VLA, and PPO improves what was cloned."""
    vla = of_side(runs, "vla")
    heard = mean(vla, "improved", "seen") - mean(vla, "improved", "misled")
    gained = mean(vla, "improved", "seen") - mean(vla, "cloned", "seen")
    return [
        at_least("VLA improved, success that the sentence is worth", heard, 0.2),
        at_least("VLA, success gained by PPO", gained, 0.0),
        at_most(
            "VLA improved, told what means nothing (chance 1/3)",
            mean(vla, "improved", "misled"),
            CHANCE + 0.05,
        ),
    ]


def table(runs: Sequence[Run]) -> Table:
    """Success of every policy before and after PPO, by what it is told."""
    header = ["policy", "", *TOLD, "parameters", "seconds"]
    rows: list[list[str]] = []
    for side in POLICIES:
        of = of_side(runs, side)
        for when, taken in (("cloned", "clone_seconds"), ("improved", "ppo_seconds")):
            found = [spread(of, when, told) for told in TOLD]
            size = f"{of[0]['parameters']:,}"
            rows.append([side, when, *found, size, f"{mean(of, taken):.0f}"])
    return header, rows


def fill(axes: Axes, runs: Sequence[Run]) -> None:
    """Success against steps; the clone is the first point."""
    pairs = zip(COLORS, WORDS.items(), strict=False)
    sides = dict(pairs)
    draw_success(axes, runs, sides, "GoTo seen as images, told in words")
    label = "who does not listen, at best"
    axes.axhline(CHANCE, color=INK, linewidth=0.9, linestyle="--", label=label)


TRIAL = Trial(
    statement="A policy that sees a picture and is told in words where to go: cloned"
    " from an expert, then improved by PPO, and how often it succeeds.",
    measure=measure,
    judge=judge,
    table=table,
    fill=fill,
    settings={**GOTO, "episodes": EPISODES},
)
