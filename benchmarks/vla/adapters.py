"""Low-rank adapters beside full fine-tuning, from one clone each."""

from __future__ import annotations

import dataclasses
import resource
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from yieldrl.algorithms import vla_ppo
from yieldrl.benchmarks.style import COLORS
from yieldrl.benchmarks.trials import Options, Run, Trial, Verdict
from yieldrl.benchmarks.trials.trial import Table, at_least, at_most, each
from yieldrl.vla import add_lora

from .learning import (
    CLONE,
    EPISODES,
    PPO,
    clones,
    draw_success,
    learned,
    look,
    mean,
    of_side,
    spread,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RANK = 8

SIDES = ("full", "lora")

RATE = 3e-4
"""Learning rate of adapters; three times that of all weights."""


def improve(path: str, side: str, seed: int) -> dict[str, Any]:
    """Improve the clone of a file, in full or by adapters beside frozen weights."""
    config = vla_ppo.Config(**{**CLONE, **PPO}, seed=seed)
    with vla_ppo.Trainer(config) as trainer:
        policy = trainer.model
    policy.load_state_dict(torch.load(path, weights_only=True))
    if side == "lora":
        config = dataclasses.replace(config, lora_rank=RANK, learning_rate=RATE)
        add_lora(policy.model, config)
    run = learned("vla", config, look, model=policy)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    # Gradient and both of Adam's moments, float32.
    kept = 3 * 4 * run["trained"] / 2**20
    sizes = {"kept_mebibytes": round(kept, 3), "peak_mebibytes": round(peak, 1)}
    return {"side": side, "seed": seed, **run, **sizes}


def measure(options: Options) -> list[dict[str, Any]]:
    """Both sides of every seed, one after the other: they are timed.

    Odd seeds begin with full fine-tuning.
    """
    runs: list[dict[str, Any]] = []
    for clone in clones(options):
        path, seed = clone["path"], clone["seed"]
        order = SIDES if seed % 2 else SIDES[::-1]
        cases = [{"path": path, "side": side, "seed": seed} for side in order]
        of = each(improve, cases, 1)
        runs += [{**run, "cloned": clone["cloned"]} for run in of]
    return runs


def judge(runs: Sequence[Run]) -> list[Verdict]:
    """A small part is trained, and it learns."""
    lora, full = of_side(runs, "lora"), of_side(runs, "full")
    gained = mean(lora, "improved", "success") - mean(lora, "cloned", "success")
    share = mean(lora, "trained") / mean(full, "trained")
    return [
        at_most("share of the parameters that adapters train", share, 0.2),
        at_least("adapters: success gained by PPO", gained, -0.02),
    ]


def table(runs: Sequence[Run]) -> Table:
    """What is trained, what it takes and what it gives."""
    header = ["", "parameters trained", "gradients and moments, MiB", "peak, MiB"]
    rows: list[list[str]] = []
    for side in SIDES:
        of = of_side(runs, side)
        row = [side, f"{mean(of, 'trained'):,.0f}", f"{mean(of, 'kept_mebibytes'):.2f}"]
        row.append(f"{statistics.median(run['peak_mebibytes'] for run in of):.0f}")
        row.append(f"{statistics.median(run['ppo_seconds'] for run in of):.0f}")
        row.append(spread(of, "cloned", "success"))
        rows.append([*row, spread(of, "improved", "success")])
    return [*header, "seconds of PPO", "cloned", "improved"], rows


def fill(axes: Axes, runs: Sequence[Run]) -> None:
    """Success against steps."""
    sides = {c: (side, side) for c, side in zip(COLORS, SIDES, strict=False)}
    draw_success(axes, runs, sides, f"Adapters of rank {RANK} beside full fine-tuning")
    axes.set_xlabel("environment steps")


TRIAL = Trial(
    statement=f"Low-rank adapters (rank {RANK}) beside full fine-tuning by PPO, from"
    " the same clones.",
    measure=measure,
    judge=judge,
    table=table,
    fill=fill,
    settings={"rank": RANK, "rate": RATE, **CLONE, **PPO, "episodes": EPISODES},
)
