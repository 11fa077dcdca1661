"""Runs of `vla_ppo`: cloned, then improved; how they are summed up and drawn."""

import atexit
import copy
import functools
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from yieldrl.algorithms import vla_ppo
from yieldrl.benchmarks.claim import Options, Run, constants, values
from yieldrl.benchmarks.style import COLORS, line
from yieldrl.benchmarks.subprocesses import each
from yieldrl.experiments.plot import Curve, aggregate

from .policies import make_trainer

GOTO, CLONE, PPO = constants("vla/settings", "GOTO", "CLONE", "PPO")

EPISODES = 512

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
def clones(options: Options) -> list[dict[str, Any]]:
    """A clone of every seed, as `clone` gives it, which claims of one command share;
    the files go when this process ends."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    cases = [{"path": f"{folder}/{s}.pt", "seed": s} for s in options.numbers]
    return each(clone, cases, options.jobs)


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


def spread(runs: Sequence[Run], *path: str, **where: Any) -> str:
    of = values(runs, *path, **where)
    return f"{np.mean(of):.3f} ({min(of):.3f} to {max(of):.3f})"


def curve_of(label: str, runs: Sequence[Run], column: int = 1) -> Curve:
    """Success rates (or, of column 2, returns) over environment steps."""
    points = [np.array(run["curve"]).T for run in runs]
    named = f"{label}, {len(runs)} seeds"
    return aggregate(named, [(rows[0], rows[column]) for rows in points])


def draw_success(axes: Any, runs: Sequence[Run], sides: Mapping[str, str]) -> None:
    """Learning curves of sides, which have these words."""
    for color, (side, words) in zip(COLORS, sides.items(), strict=False):
        line(axes, curve_of(words, [run for run in runs if run["side"] == side]), color)
    axes.set_xlabel("environment steps, the expert's included")
    axes.set_ylabel("success rate of deterministic episodes")
