"""Chunks of 1, 4 and 8 actions; ratios of tokens and of chunks."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from yieldrl.algorithms import vla_ppo
from yieldrl.benchmarks.style import COLORS
from yieldrl.benchmarks.trials import Options, Run, Trial, Verdict
from yieldrl.benchmarks.trials.trial import Table, at_least, each

from .learning import (
    CLONE,
    EPISODES,
    PPO,
    cloned,
    draw_success,
    learned,
    look,
    mean,
    of_side,
    spread,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LENGTHS: dict[int, tuple[str, ...]] = {
    1: ("chunk",),
    4: ("chunk", "token"),
    8: ("chunk", "token"),
}
"""Chunk length, and what the ratio is of; for one action they are the same."""

SIDES = tuple(
    str(length) if len(levels) == 1 else f"{length}, {level}"
    for length, levels in LENGTHS.items()
    for level in levels
)


def train(length: int, seed: int) -> dict[str, Any]:
    """A clone, improved with every kind of ratio, in this process."""
    config = vla_ppo.Config(**CLONE, chunk_length=length, seed=seed)
    weights, first = cloned(config, look)
    runs: list[dict[str, Any]] = []
    for level in LENGTHS[length]:
        config = dataclasses.replace(config, **PPO, ratio_level=level)
        run = learned("vla", config, look, weights)
        side = str(length) if len(LENGTHS[length]) == 1 else f"{length}, {level}"
        runs.append({**run, "side": side, "seed": seed, "cloned": first})
    return {"runs": runs}


def measure(options: Options) -> list[dict[str, Any]]:
    """Every way and seed."""
    seeds = range(1, options.seeds + 1)
    cases = [{"length": length, "seed": seed} for seed in seeds for length in LENGTHS]
    return [run for case in each(train, cases, options.jobs) for run in case["runs"]]


def judge(runs: Sequence[Run]) -> list[Verdict]:
    """PPO makes no clone worse, but for what 512 episodes cannot tell."""
    return [
        at_least(
            f"{side}: success gained by PPO",
            mean(of_side(runs, side), "improved", "success")
            - mean(of_side(runs, side), "cloned", "success"),
            -0.02,
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
    axes.set_xlabel("looks of the policy")


TRIAL = Trial(
    statement="Chunks of 1, 4 and 8 actions, with one ratio for a chunk or one for each"
    " token, after as many looks.",
    measure=measure,
    judge=judge,
    table=table,
    fill=fill,
    settings={**CLONE, **PPO, "episodes": EPISODES},
)
