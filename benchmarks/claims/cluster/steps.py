"""Steps a second of environments that wait or compute, by who takes them."""

import os
import time
from contextlib import closing
from typing import Any

import gymnasium as gym
import numpy as np

from yieldrl.algorithms import ppo
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import median
from yieldrl.benchmarks.style import COLORS, INK
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_least

SECONDS = {"wait": 0.01, "compute": 0.001}  # of a step
FIELDS: dict[str, Any] = {
    "num_envs": 8,
    "num_steps": 32,
    "num_epochs": 1,
    "num_minibatches": 1,
    "total_steps": 1_000_000_000,
    "anneal_learning_rate": False,
    "eval_every": 0,
    "device": "cpu",
    "max_policy_lag": 2,  # the next segment waits in a worker when one is done
    "speed": "eager",  # no compiler works beside
}
WARM_UP, MEASURED = 3, 5.0  # rollouts, and seconds after them
WORKERS = (1, 2, 4, 8)

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


def share(runs: Runs, cost: str, side: str, count: int) -> float:
    """Of as many times the steps of one worker, as far as processes have cores."""
    cores = count if cost == "wait" else min(count, runs[0]["cores"])
    one = median(runs, "rate", side="ray 1", cost=cost)
    return median(runs, "rate", side=side, cost=cost) / one / cores


def judge(runs: Runs) -> list[Demand]:
    """Steps that compute are demanded of as many workers as there are cores."""
    return [
        at_least(f"{cost}, {n} workers, share", share(runs, cost, f"ray {n}", n), 0.9)
        for cost in SECONDS
        for n in WORKERS[1:]
        if cost == "wait" or n <= runs[0]["cores"]
    ]


def table(runs: Runs) -> Table:
    costs = {"wait": "a step waits 10 ms", "compute": "a step computes 1 ms"}
    rows = [
        [label, *(f"{median(runs, 'rate', side=side, cost=of):.0f}" for of in costs)]
        for side, label in LABELS.items()
    ]
    return ["side", *(f"steps/s, {words}" for words in costs.values())], rows


def draw(axes: Any, runs: Runs) -> None:
    for color, cost in zip(COLORS, SECONDS, strict=False):
        shares = [share(runs, cost, f"ray {n}", n) for n in WORKERS]
        axes.plot(WORKERS, shares, ".-", color=color, label=f"ray, a step {cost}s")
        axes.plot([8], [share(runs, cost, "AsyncVectorEnv", 8)], "x", color=color)
    axes.plot([], [], "x", color=INK, label="Gymnasium's AsyncVectorEnv")
    axes.set_xscale("log", base=2)
    axes.set_xticks(WORKERS, [str(n) for n in WORKERS])


CLAIMS = [
    Trial(
        name="cluster-steps",
        statement=(
            "Where a step waits, n workers on Ray take n times the steps of one; where"
            " it computes, up to the number of cores."
        ),
        settings={
            "seconds": SECONDS,
            "warm_up": WARM_UP,
            "measured": MEASURED,
            **FIELDS,
        },
        run=train,
        cases=[{"side": side, "cost": cost} for cost in SECONDS for side in SIDES],
        timed=True,
        table=table,
        judge=judge,
        draw=draw,
        axes={
            "title": "Environment steps a second, 8 environments",
            "xlabel": "rollout workers",
            "ylabel": "share of so many times the steps of one worker",
            "ylim": (0, 1.05),
        },
    )
]


if __name__ == "__main__":
    main(CLAIMS)
