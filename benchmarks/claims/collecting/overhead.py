"""What collecting in the background costs where there is nothing to gain by it.

Two works, each synchronous and in the background, in slices that alternate within one
process. In the first, an environment costs nothing and nearly all of the time is the
learner's. The second is W1 of `peers`: there, acting and stepping are half of the work,
and both halves want the same interpreter.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from functools import partial
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from yieldrl.algorithms import ppo
from yieldrl.benchmarks.claim import Run, Table, Verdict, at_most, mean, values
from yieldrl.benchmarks.style import COLORS, INK
from yieldrl.benchmarks.timing import in_turns

SLICES = 20  # pairs of slices of a seed, after one that is not counted
UPDATES = {"free": 8, "W1": 30}
"""Work -> rollouts learned from in a slice, about a second."""

SETTINGS = {"slices": SLICES, "updates": UPDATES}
SIDES = ("sync", "async")


class Free(VectorEnv[Any, Any, Any]):
    """Environments of which a step costs nothing: the same answer each time."""

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(self, num_envs: int) -> None:
        self.num_envs = num_envs
        self.single_observation_space = Box(-1.0, 1.0, (4,), np.float32)
        self.single_action_space = Discrete(2)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        never, reward = np.zeros(num_envs, bool), np.ones(num_envs)
        self._obs = np.full((num_envs, 4), 0.5, np.float32)
        self._answer = self._obs, reward, never, never, {}

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return self._obs, {}

    def step(self, actions: Any) -> Any:
        return self._answer


COMMON: dict[str, Any] = {
    "anneal_learning_rate": False,
    "normalize_reward": False,
    "total_steps": 10**9,
    "eval_every": 0,
    "device": "cpu",
}


def free(seed: int, side: Any) -> ppo.Trainer:
    """PPO that passes over each rollout many times."""
    passes: Any = {"num_steps": 128, "num_epochs": 40, "num_minibatches": 4}
    config = ppo.Config(**COMMON, **passes, seed=seed, collection=side)
    return ppo.Trainer(config, envs=Free(4))


def w1(seed: int, side: Any) -> ppo.Trainer:
    """CartPole as `peers W1` has it."""
    config = ppo.Config(**COMMON, learning_rate=3e-4, seed=seed, collection=side)
    return ppo.Trainer(config)


WORKS: dict[str, Callable[[int, Any], ppo.Trainer]] = {"free": free, "W1": w1}
"""Name -> the trainer of a seed and a side."""

CASES = [{"work": work} for work in WORKS]


def slices(work: str, seed: int) -> dict[str, Any]:
    """Seconds of every slice of both sides, which take turns.

    Returns:
        "sync" and "async", seconds of each slice; and the "learner's share" of the time
        of the synchronous ones.
    """
    with ExitStack() as stack:
        trainers = {
            side: stack.enter_context(WORKS[work](seed, side)) for side in SIDES
        }
        sides = {
            side: partial(one_slice, trainer, UPDATES[work])
            for side, trainer in trainers.items()
        }
        found = in_turns(sides, SLICES)
    collect, train = (sum(of[k] for of in found["sync"]) for k in ("collect", "train"))
    share = round(train / (collect + train), 3)
    run = {"work": work, "seed": seed, "learner's share": share}
    return run | {side: [round(of["all"], 4) for of in found[side]] for side in SIDES}


def one_slice(trainer: ppo.Trainer, updates: int) -> dict[str, float]:
    """Seconds of so many updates: `all`, and of the two kinds of steps."""
    config = trainer.config
    steps = updates * config.num_epochs * config.num_minibatches
    end = trainer.agent.learn_step + steps
    spent = {"collect": 0.0, "train": 0.0}
    begin = now = time.perf_counter()
    with closing(trainer()) as loop:
        while trainer.agent.learn_step < end:
            log, before = next(loop), now
            now = time.perf_counter()
            spent[log["log_type"]] += now - before
    return {"all": time.perf_counter() - begin, **spent}


def ratios(runs: Sequence[Run], work: str) -> list[float]:
    """Time of each slice in the background, in times of the one beside it."""
    return [
        background / synchronous
        for run in runs
        if run["work"] == work
        for synchronous, background in zip(run["sync"], run["async"], strict=True)
    ]


def judge(runs: Sequence[Run]) -> list[Verdict]:
    """Where collecting is free, and the learner's share 90 % or more."""
    share = min(values(runs, "learner's share", work="free"))
    ratio = statistics.median(ratios(runs, "free"))
    demand = f"free (learner's share {share:.0%}), time of synchronous"
    return [at_most(demand, ratio, 1.1)]


def table(runs: Sequence[Run]) -> Table:
    """Medians of both works."""
    rows: list[list[str]] = []
    for work in WORKS:
        share = mean(runs, "learner's share", work=work)
        row = [work, f"{share:.0%}"]
        for side in SIDES:
            times = [t for run in values(runs, side, work=work) for t in run]
            row.append(f"{statistics.median(times):.3f}")
        low, middle, high = statistics.quantiles(ratios(runs, work), n=4)
        rows.append([*row, f"{middle:.3f}", f"{low:.3f} to {high:.3f}"])
    header = ["work", "learner's share", "s, sync", "s, async", "ratio", "quartiles"]
    return header, rows


def draw(axes: Any, runs: Sequence[Run]) -> None:
    """Every pair of slices, sorted."""
    for color, work in zip(COLORS, WORKS, strict=False):
        of = sorted(ratios(runs, work))
        shares = [100 * (i + 0.5) / len(of) for i in range(len(of))]
        axes.plot(shares, of, ".-", color=color, label=f"{work}, {len(of)} pairs")
    axes.axhline(1.0, color=INK, linewidth=0.9)
    axes.axhline(1.1, color=INK, linewidth=0.9, linestyle="--", label="allowed, free")
