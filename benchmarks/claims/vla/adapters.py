"""Low-rank adapters beside full fine-tuning, from one clone each."""

import dataclasses
import resource
from typing import Any

import torch

from yieldrl.algorithms import vla_ppo
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import mean, median, some, spread, values
from yieldrl.benchmarks.style import lines
from yieldrl.benchmarks.subprocesses import each
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_least, at_most
from yieldrl.vla import add_lora

from .learning import AXES, CLONE, EPISODES, PPO, clones, learned, look

RANK = 8
RATE = 3e-4  # learning rate of adapters; three times that of all weights
SIDES = ("full", "lora")


def improve(path: str, side: str, seed: int) -> dict[str, Any]:
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


def from_clones(seeds: int, jobs: int) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = []
    for clone in clones(seeds, jobs):
        path, seed = clone["path"], clone["seed"]
        order = SIDES if seed % 2 else SIDES[::-1]
        cases = [{"path": path, "side": side, "seed": seed} for side in order]
        of = each(improve, cases, 1)
        runs += [{**run, "cloned": clone["cloned"]} for run in of]
    return runs


def table(runs: Runs) -> Table:
    header = ["", "parameters trained", "gradients and moments, MiB", "peak, MiB"]
    rows: list[list[str]] = []
    for side in SIDES:
        of = some(runs, side=side)
        sizes = f"{mean(of, 'trained'):,.0f}", f"{mean(of, 'kept_mebibytes'):.2f}"
        peak, seconds = (median(of, k) for k in ("peak_mebibytes", "ppo_seconds"))
        ends = (spread(values(of, when, "success")) for when in ("cloned", "improved"))
        rows.append([side, *sizes, f"{peak:.0f}", f"{seconds:.0f}", *ends])
    return [*header, "seconds of PPO", "cloned", "improved"], rows


def judge(runs: Runs) -> list[Demand]:
    """A small part is trained, and it learns."""
    full, lora = (some(runs, side=side) for side in SIDES)
    share = mean(lora, "trained") / mean(full, "trained")
    gained = mean(lora, "improved", "success") - mean(lora, "cloned", "success")
    return [
        at_most("share of the parameters that adapters train", share, 0.2),
        at_least("adapters: success gained by PPO", gained, -0.02),
    ]


CLAIMS = [
    Trial(
        name="vla-adapters",
        statement=(
            "Low-rank adapters (rank 8) beside full fine-tuning by PPO, from the same"
            " clones."
        ),
        settings={
            "rank": RANK,
            "rate": RATE,
            **CLONE,
            **PPO,
            "episodes": EPISODES,
        },
        together=from_clones,
        table=table,
        judge=judge,
        draw=lambda axes, runs: lines(
            axes, {side: values(runs, "curve", side=side) for side in SIDES}
        ),
        axes={"title": "Adapters of rank 8 beside full fine-tuning", **AXES},
    )
]


if __name__ == "__main__":
    main(CLAIMS)
