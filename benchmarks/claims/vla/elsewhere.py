"""A VLA whose inference takes 100 ms elsewhere: PPO in turn, and beside it. Both sides
go on from one clone, and learn from as many looks."""

import dataclasses
import statistics
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import torch
from torch import Tensor

from yieldrl.algorithms import vla_ppo
from yieldrl.benchmarks.claim import Options, Run, constants, values
from yieldrl.benchmarks.style import COLORS, INK
from yieldrl.benchmarks.subprocesses import each

from .learning import CLONE, EPISODES, clones, look

LOOK_SECONDS = 0.1
SIDES: tuple[Any, ...] = ("sync", "async")
(PPO,) = constants("vla/elsewhere", "PPO")

SETTINGS = {"look_seconds": LOOK_SECONDS, **CLONE, **PPO, "episodes": EPISODES}


class Elsewhere(vla_ppo.Model):
    """A policy for which this process waits."""

    def sample(
        self, obs: Any, generator: torch.Generator, *, record: bool = False
    ) -> tuple[Tensor, dict[str, Tensor]]:
        time.sleep(LOOK_SECONDS)
        return super().sample(obs, generator, record=record)


def pair(path: str, seed: int, cloned: dict[str, float]) -> dict[str, Any]:
    """Seconds and success of both sides, from the clone of a file; odd seeds begin with
    the synchronous side."""
    weights = torch.load(path, weights_only=True)
    taken: dict[str, Any] = {"seed": seed, "cloned": cloned["success"]}
    config = vla_ppo.Config(**{**CLONE, **PPO}, seed=seed)
    for side in SIDES if seed % 2 else reversed(SIDES):
        taken[side] = improved(dataclasses.replace(config, collection=side), weights)
    return taken


def improved(config: vla_ppo.Config, weights: dict[str, Tensor]) -> dict[str, float]:
    """What PPO makes of a clone, and in how long. Deterministic actions do not pass
    through `sample`: evaluations do not wait."""
    lags: list[float] = []
    with vla_ppo.Trainer(config, model=Elsewhere) as trainer:
        trainer.model.load_state_dict(weights)
        begin = time.perf_counter()
        with closing(trainer()) as loop:
            for log in loop:
                lags.append(float(log["logs"].get("policy_lag", 0.0)))
        seconds = time.perf_counter() - begin
        lag = statistics.mean(lags)
        found = {"seconds": seconds, **look(trainer), "policy_lag": lag}
    return {name: round(value, 3) for name, value in found.items()}


def measure(options: Options) -> list[dict[str, Any]]:
    return each(pair, clones(options), 1)


def draw(axes: Any, runs: Sequence[Run]) -> None:
    for run in runs:
        ends = [(run[s]["seconds"], run[s]["success"]) for s in SIDES]
        axes.plot(*zip(*ends, strict=True), color=INK, linewidth=0.7, alpha=0.6)
    for color, side in zip(COLORS, SIDES, strict=False):
        label = f"{side}, {len(runs)} seeds"
        points = (values(runs, side, what) for what in ("seconds", "success"))
        axes.plot(*points, "o", color=color, label=label)
    axes.set_xlim(left=0)
    axes.set_ylim(0, 1)
