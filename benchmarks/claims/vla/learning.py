"""Runs of `vla_ppo`: cloned, then improved."""

import atexit
import copy
import functools
import shutil
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from yieldrl.algorithms import vla_ppo
from yieldrl.benchmarks.subprocesses import each

from .policies import make_trainer

# The tiny model on small grids, where three pairs of colour and shape are never named.
# All else is the algorithm's defaults.
GOTO: dict[str, Any] = {
    "env_id": "yieldrl/GoToPixels-v1",
    "env_kwargs": {"goals": "seen"},
    "eval_every": 10_000,
    "eval_episodes": 128,
    "device": "cpu",
    "threads": 1,
}
# from half as many steps, where what comes after cloning is compared
CLONE: dict[str, Any] = {
    **GOTO,
    "eval_every": 4_000,
    "demonstration_steps": 10_000,
    "clone_epochs": 12,
}
# what then differs, from a clone that is there already
PPO: dict[str, Any] = {"demonstration_steps": 0, "total_steps": 12_000}
EPISODES = 512
AXES = {
    "xlabel": "environment steps, the expert's included",
    "ylabel": "success rate of deterministic episodes",
}

Look = Callable[[Any], dict[str, float]]


def look(trainer: Any) -> dict[str, float]:
    return rates(trainer, EPISODES, success="success_rate", looks="episode_length")


def rates(trainer: Any, episodes: int, **named: str) -> dict[str, float]:
    """Metrics of deterministic episodes: a name of ours -> that of the log."""
    logs = trainer.evaluate(episodes, seed=20_000)["logs"]
    return {name: round(float(logs[key]), 4) for name, key in named.items()}


def cloned(
    config: vla_ppo.Config, look: Look
) -> tuple[dict[str, Tensor], dict[str, float]]:
    """The weights of a clone, and what `look` found of it; nothing is improved."""
    with vla_ppo.Trainer(config) as trainer:
        assert trainer.cloning is not None
        for _ in trainer.cloning():
            pass
        return copy.deepcopy(trainer.model.state_dict()), look(trainer)


def clone(path: str, seed: int) -> dict[str, Any]:
    """Write the weights of a clone to a file; where it is, and how good."""
    weights, found = cloned(vla_ppo.Config(**CLONE, seed=seed), look)
    torch.save(weights, path)
    return {"path": path, "seed": seed, "cloned": found}


@functools.cache
def clones(seeds: int, jobs: int) -> list[dict[str, Any]]:
    """A clone of every seed, as `clone` gives it, which claims of a script share;
    the files go when this process ends."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    cases = [{"path": f"{folder}/{s}.pt", "seed": s} for s in range(1, seeds + 1)]
    return each(clone, cases, jobs)


def learned(
    policy: str,
    config: vla_ppo.Config,
    look: Look,
    weights: dict[str, Tensor] | None = None,
    **parts: Any,
) -> dict[str, Any]:
    """Train one of `POLICIES` to the end, from given weights or new ones.

    `curve` has rows of environment step, success rate and return.
    """
    curve: list[tuple[int, float, float]] = []
    first, begin = None, time.perf_counter()
    clone_seconds = looking = 0.0
    with make_trainer(policy, config, **parts) as trainer:
        if weights is not None:
            trainer.model.load_state_dict(weights)
        for log in trainer():
            if first is None and log["logs"].get("phase") == 1.0:
                clone_seconds = time.perf_counter() - begin
                first = look(trainer)
                looking = time.perf_counter() - begin - clone_seconds
            if log["log_type"] == "evaluate":
                found = (log["logs"][k] for k in ("success_rate", "episode_return"))
                success, score = (round(float(value), 4) for value in found)
                curve.append((log["sample_step"], success, score))
        seconds = time.perf_counter() - begin - looking - clone_seconds
        parameters = list(trainer.model.parameters())
        return {
            "cloned": first,
            "improved": look(trainer),
            "curve": curve,
            "clone_seconds": round(clone_seconds, 1),
            "ppo_seconds": round(seconds, 1),
            "parameters": sum(p.numel() for p in parameters),
            "trained": sum(p.numel() for p in parameters if p.requires_grad),
        }
