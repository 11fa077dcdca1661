"""What collecting in the background costs where there is nothing to gain by it.

In one work an environment costs nothing and nearly all of the time is the learner's.
The other is W1 of `peers`, where both halves want the same interpreter.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from yieldrl.algorithms import ppo
from yieldrl.benchmarks.claim import constants
from yieldrl.benchmarks.style import COLORS, INK
from yieldrl.benchmarks.terms import Run
from yieldrl.benchmarks.timing import trainers_in_turns

SLICES = 20  # pairs of slices of a seed, after one that is not counted
UPDATES, COMMON = constants("collecting/overhead", "UPDATES", "COMMON")

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
CASES = [{"work": work} for work in WORKS]


def slices(work: str, seed: int) -> dict[str, Any]:
    """Seconds of every slice of both sides, and the learner's share of those of the
    synchronous ones."""
    trainers = {side: WORKS[work](seed, side) for side in SIDES}
    updates = UPDATES[work]
    found = trainers_in_turns(trainers, lambda of: one_slice(of, updates), SLICES)
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


def draw(axes: Any, runs: Sequence[Run]) -> None:
    for color, work in zip(COLORS, WORKS, strict=False):
        of = sorted(ratios(runs, work))
        shares = [100 * (i + 0.5) / len(of) for i in range(len(of))]
        axes.plot(shares, of, ".-", color=color, label=f"{work}, {len(of)} pairs")
    axes.axhline(1.0, color=INK, linewidth=0.9)
    axes.axhline(1.1, color=INK, linewidth=0.9, linestyle="--", label="allowed, free")
