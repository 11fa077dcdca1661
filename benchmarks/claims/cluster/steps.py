"""Steps a second of environments that wait or compute, by who takes them."""

import os
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import gymnasium as gym
import numpy as np

from yieldrl.algorithms import ppo
from yieldrl.benchmarks.claim import Run, Verdict, at_least, constants, median
from yieldrl.benchmarks.style import COLORS, INK

SECONDS, FIELDS = constants("cluster/steps", "SECONDS", "FIELDS")
WARM_UP, MEASURED = 3, 5.0  # rollouts, and seconds after them
WORKERS = (1, 2, 4, 8)
SETTINGS = {"seconds": SECONDS, "warm_up": WARM_UP, "measured": MEASURED, **FIELDS}

SIDES: dict[str, dict[str, Any]] = {
    "sync": {},
    "async": {"collection": "async"},
    "AsyncVectorEnv": {"vectorization": "async"},
    **{f"ray {n}": {"collection": "ray", "rollout_workers": n} for n in WORKERS},
}
LABELS = {
    **{side: side for side in SIDES},
    "AsyncVectorEnv": "Gymnasium's AsyncVectorEnv, 8 processes",
    **{f"ray {n}": f"ray, {n} worker{'s' * (n > 1)}" for n in WORKERS},
}
CASES = [{"side": side, "cost": cost} for cost in SECONDS for side in SIDES]


class Costly(gym.Env[Any, Any]):
    """Waits so many seconds in a step, or computes for as many of the CPU."""

    observation_space = gym.spaces.Box(-1.0, 1.0, (4,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, wait: float = 0.0, compute: float = 0.0) -> None:
        self.wait, self.compute = wait, compute

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return np.zeros(4, np.float32), {}

    def step(self, action: Any) -> Any:
        if self.wait:
            time.sleep(self.wait)
        until = time.thread_time() + self.compute
        while time.thread_time() < until:
            pass
        return np.zeros(4, np.float32), 1.0, False, False, {}


def train(side: str, cost: str, seed: int) -> dict[str, Any]:
    """Steps a second of PPO after its first rollouts; seconds of a gradient step."""
    costs = {"env_kwargs": {cost: SECONDS[cost]}, "seed": seed}
    trainer = ppo.Trainer(ppo.Config(**FIELDS, **SIDES[side], **costs), envs=Costly)
    ends: list[tuple[float, int]] = []
    learning, now = 0.0, time.perf_counter()
    with trainer, closing(trainer()) as loop:
        for log in loop:
            before, now = now, time.perf_counter()
            if log["log_type"] == "train":
                ends.append((now, log["sample_step"]))
                learning += now - before
                if len(ends) > WARM_UP and now - ends[WARM_UP][0] > MEASURED:
                    break
    (begin, first), (end, last) = ends[WARM_UP], ends[-1]
    found = {"rate": (last - first) / (end - begin), "learn": learning / len(ends)}
    named = {"side": side, "cost": cost, "seed": seed, "cores": os.cpu_count()}
    return named | {name: round(value, 5) for name, value in found.items()}


def share(runs: Sequence[Run], cost: str, side: str, count: int) -> float:
    """Of as many times the steps of one worker, as far as processes have cores."""
    cores = count if cost == "wait" else min(count, runs[0]["cores"])
    one = median(runs, "rate", side="ray 1", cost=cost)
    return median(runs, "rate", side=side, cost=cost) / one / cores


def judge(runs: Sequence[Run]) -> list[Verdict]:
    """Steps that compute are demanded of as many workers as there are cores."""
    return [
        at_least(f"{cost}, {n} workers, share", share(runs, cost, f"ray {n}", n), 0.9)
        for cost in SECONDS
        for n in WORKERS[1:]
        if cost == "wait" or n <= runs[0]["cores"]
    ]


def draw(axes: Any, runs: Sequence[Run]) -> None:
    for color, cost in zip(COLORS, SECONDS, strict=False):
        shares = [share(runs, cost, f"ray {n}", n) for n in WORKERS]
        axes.plot(WORKERS, shares, ".-", color=color, label=f"ray, a step {cost}s")
        axes.plot([8], [share(runs, cost, "AsyncVectorEnv", 8)], "x", color=color)
    axes.plot([], [], "x", color=INK, label="Gymnasium's AsyncVectorEnv")
    axes.set_xscale("log", base=2)
    axes.set_xticks(WORKERS, [str(n) for n in WORKERS])
