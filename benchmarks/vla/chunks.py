"""Chunks of 1, 4 and 8 actions; ratios of tokens and of chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from yieldrl.algorithms import vla_ppo
from yieldrl.benchmarks.style import COLORS
from yieldrl.benchmarks.trials import Options, Run, Trial, Verdict
from yieldrl.benchmarks.trials.trial import Table, at_least, each

from .learning import GOTO, draw_success, learned, mean, of_side, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EPISODES = 512

SIDES: dict[str, dict[str, Any]] = {
    "1": {"chunk_length": 1},
    "4, chunk": {"chunk_length": 4},
    "4, token": {"chunk_length": 4, "ratio_level": "token"},
    "8, chunk": {"chunk_length": 8},
    "8, token": {"chunk_length": 8, "ratio_level": "token"},
}
"""Chunk length, and what the ratio is of; for one action they are the same."""


def look(trainer: Any) -> dict[str, float]:
    """Success rate, and looks of an episode."""
    logs = trainer.evaluate(EPISODES, seed=20_000)["logs"]
    named = {"success": "success_rate", "looks": "episode_length"}
    return {name: round(float(logs[key]), 4) for name, key in named.items()}


def train(side: str, seed: int) -> dict[str, Any]:
    """One way of chunking, cloned and improved, in this process."""
    config = vla_ppo.Config(**GOTO, **SIDES[side], seed=seed)
    return {"side": side, "seed": seed, **learned("vla", config, look)}


def measure(options: Options) -> list[dict[str, Any]]:
    """Every way and seed."""
    seeds = range(1, options.seeds + 1)
    cases = [{"side": side, "seed": seed} for seed in seeds for side in SIDES]
    return each(train, cases, options.jobs)


def judge(runs: Sequence[Run]) -> list[Verdict]:
    """PPO improves every clone."""
    return [
        at_least(
            f"{side}: success gained by PPO",
            mean(of_side(runs, side), "improved", "success")
            - mean(of_side(runs, side), "cloned", "success"),
            0.0,
        )
        for side in SIDES
    ]


def table(runs: Sequence[Run]) -> Table:
    """Success before and after PPO, and how often the policy looked."""
    header = ["actions of a chunk, ratio", "cloned", "improved", "looks of an episode"]
    rows: list[list[str]] = []
    for side in SIDES:
        of = of_side(runs, side)
        row = [side, spread(of, "cloned", "success"), spread(of, "improved", "success")]
        rows.append([*row, f"{mean(of, 'improved', 'looks'):.2f}"])
    return header, rows


def fill(axes: Axes, runs: Sequence[Run]) -> None:
    """Success against looks; the clone is the first point."""
    sides = {c: (side, f"L = {side}") for c, side in zip(COLORS, SIDES, strict=False)}
    draw_success(axes, runs, sides, "Chunks of actions on GoTo")
    axes.set_xlabel("steps of the expert, then looks of the policy")


TRIAL = Trial(
    statement="Chunks of 1, 4 and 8 actions, with one ratio for a chunk or one for each"
    " token, after as many looks.",
    measure=measure,
    judge=judge,
    table=table,
    fill=fill,
    settings={**GOTO, "episodes": EPISODES, "sides": SIDES},
)
