"""Chunks of 1, 4 and 8 actions; ratios of tokens and of chunks."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from yieldrl.algorithms import vla_ppo
from yieldrl.benchmarks.claim import Run

from .learning import CLONE, EPISODES, PPO, cloned, draw_success, learned, look

SETTINGS = {**CLONE, **PPO, "episodes": EPISODES}

LENGTHS = {1: {"1": "chunk"}}
# chunk length -> side -> what the ratio is of; for one action both are the same
LENGTHS |= {n: {f"{n}, {of}": of for of in ("chunk", "token")} for n in (4, 8)}
CASES = [{"length": length} for length in LENGTHS]

SIDES = tuple(side for sides in LENGTHS.values() for side in sides)


def train(length: int, seed: int) -> dict[str, Any]:
    config = vla_ppo.Config(**CLONE, chunk_length=length, seed=seed)
    weights, first = cloned(config, look)
    runs: list[dict[str, Any]] = []
    for side, level in LENGTHS[length].items():
        config = dataclasses.replace(config, **PPO, ratio_level=level)
        run = learned("vla", config, look, weights)
        runs.append({**run, "side": side, "seed": seed, "cloned": first})
    return {"runs": runs}


def draw(axes: Any, runs: Sequence[Run]) -> None:
    draw_success(axes, runs, {side: f"L = {side}" for side in SIDES})
