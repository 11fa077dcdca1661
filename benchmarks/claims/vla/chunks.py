"""Chunks of 1, 4 and 8 actions; ratios of tokens and of chunks."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from yieldrl.algorithms import vla_ppo
from yieldrl.benchmarks.claim import Options, Run, Table, Verdict, at_least, mean
from yieldrl.benchmarks.subprocesses import each

from .learning import CLONE, EPISODES, PPO, cloned, draw_success, learned, look, spread

SETTINGS = {**CLONE, **PPO, "episodes": EPISODES}

LENGTHS = {1: {"1": "chunk"}}
LENGTHS |= {n: {f"{n}, {of}": of for of in ("chunk", "token")} for n in (4, 8)}
"""Chunk length -> side -> what the ratio is of; for one action both are the same."""

SIDES = tuple(side for sides in LENGTHS.values() for side in sides)


def train(length: int, seed: int) -> dict[str, Any]:
    """A clone, improved with every kind of ratio, in this process."""
    config = vla_ppo.Config(**CLONE, chunk_length=length, seed=seed)
    weights, first = cloned(config, look)
    runs: list[dict[str, Any]] = []
    for side, level in LENGTHS[length].items():
        config = dataclasses.replace(config, **PPO, ratio_level=level)
        run = learned("vla", config, look, weights)
        runs.append({**run, "side": side, "seed": seed, "cloned": first})
    return {"runs": runs}


def measure(options: Options) -> list[dict[str, Any]]:
    """Every way and seed."""
    cases = [{"length": n, "seed": seed} for seed in options.numbers for n in LENGTHS]
    return [run for case in each(train, cases, options.jobs) for run in case["runs"]]


def judge(runs: Sequence[Run]) -> list[Verdict]:
    """PPO makes no clone worse, but for what 512 episodes cannot tell."""
    return [
        at_least(
            f"{side}: success gained by PPO",
            mean(runs, "improved", "success", side=side)
            - mean(runs, "cloned", "success", side=side),
            -0.02,
        )
        for side in SIDES
    ]


def table(runs: Sequence[Run]) -> Table:
    """Success before and after PPO, and how often the policy looked."""
    rows: list[list[str]] = []
    for side in SIDES:
        when = ("cloned", "improved")
        row = [side, *(spread(runs, w, "success", side=side) for w in when)]
        rows.append([*row, f"{mean(runs, 'improved', 'looks', side=side):.2f}"])
    header = ["actions of a chunk, ratio", "cloned", "improved", "looks of an episode"]
    return header, rows


def draw(axes: Any, runs: Sequence[Run]) -> None:
    """Success against looks; the clone is the first point."""
    draw_success(axes, runs, {side: f"L = {side}" for side in SIDES})
