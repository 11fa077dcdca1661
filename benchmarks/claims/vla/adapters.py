"""Low-rank adapters beside full fine-tuning, from one clone each."""

import dataclasses
import resource
from collections.abc import Sequence
from typing import Any

import torch

from yieldrl.algorithms import vla_ppo
from yieldrl.benchmarks.claim import Options, Run
from yieldrl.benchmarks.subprocesses import each
from yieldrl.vla import add_lora

from .learning import CLONE, EPISODES, PPO, clones, draw_success, learned, look

RANK = 8
RATE = 3e-4  # learning rate of adapters; three times that of all weights
SETTINGS = {"rank": RANK, "rate": RATE, **CLONE, **PPO, "episodes": EPISODES}
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


def measure(options: Options) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = []
    for clone in clones(options):
        path, seed = clone["path"], clone["seed"]
        order = SIDES if seed % 2 else SIDES[::-1]
        cases = [{"path": path, "side": side, "seed": seed} for side in order]
        of = each(improve, cases, 1)
        runs += [{**run, "cloned": clone["cloned"]} for run in of]
    return runs


def draw(axes: Any, runs: Sequence[Run]) -> None:
    draw_success(axes, runs, {side: side for side in SIDES})
