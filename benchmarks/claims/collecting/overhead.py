"""What collecting in the background costs where there is nothing to gain by it.

In one work an environment costs nothing and nearly all of the time is the learner's.
The other is W1 of `peers`, where both halves want the same interpreter.
"""

import statistics
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from yieldrl.algorithms import ppo
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import mean, some, values
from yieldrl.benchmarks.style import COLORS, INK
from yieldrl.benchmarks.timing import trainers_in_turns
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_most

SLICES = 20  # pairs of slices of a seed, after one that is not counted
UPDATES = {"free": 8, "W1": 30}  # rollouts learned from in a slice, about a second
COMMON: dict[str, Any] = {
    "anneal_learning_rate": False,
    "normalize_reward": False,
    "total_steps": 1_000_000_000,
    "eval_every": 0,
    "device": "cpu",
}
SIDES = ("sync", "async")
SHARE = "learner's share"


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


def slices(work: str, seed: int) -> dict[str, Any]:
    """Seconds of every slice of both sides, and the learner's share of those of the
    synchronous ones."""
    trainers = {side: WORKS[work](seed, side) for side in SIDES}
    updates = UPDATES[work]
    found = trainers_in_turns(trainers, lambda of: one_slice(of, updates), SLICES)
    collect, train = (sum(of[k] for of in found["sync"]) for k in ("collect", "train"))
    share = round(train / (collect + train), 3)
    run = {"work": work, "seed": seed, SHARE: share}
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


def ratios(runs: Runs, work: str) -> list[float]:
    """Time of each slice in the background, in times of the one beside it."""
    return [
        background / synchronous
        for run in runs
        if run["work"] == work
        for synchronous, background in zip(run["sync"], run["async"], strict=True)
    ]


def table(runs: Runs) -> Table:
    rows: list[list[str]] = []
    for work in WORKS:
        of, found = some(runs, work=work), ratios(runs, work)
        row = [work, f"{mean(of, SHARE):.0%}"]
        slices = ([x for run in of for x in run[side]] for side in SIDES)
        row += [f"{statistics.median(seconds):.3f}" for seconds in slices]
        low, middle, high = statistics.quantiles(found, n=4)
        rows.append([*row, f"{middle:.3f}", f"{low:.3f} to {high:.3f}"])
    header = ["work", SHARE, "s, sync", "s, async", "ratio", "quartiles"]
    return header, rows


def judge(runs: Runs) -> list[Demand]:
    """Where collecting is free, and the learner's share 90 % or more."""
    least = min(values(runs, SHARE, work="free"))
    words = f"free ({SHARE} {least:.0%}), time of synchronous"
    return [at_most(words, statistics.median(ratios(runs, "free")), 1.1)]


def draw(axes: Any, runs: Runs) -> None:
    for color, work in zip(COLORS, WORKS, strict=False):
        of = sorted(ratios(runs, work))
        shares = [100 * (i + 0.5) / len(of) for i in range(len(of))]
        axes.plot(shares, of, ".-", color=color, label=f"{work}, {len(of)} pairs")
    axes.axhline(1.0, color=INK, linewidth=0.9)
    axes.axhline(1.1, color=INK, linewidth=0.9, linestyle="--", label="allowed, free")


CLAIMS = [
    Trial(
        name="collecting-overhead",
        statement=(
            "Where collecting takes no time, doing it in the background costs hardly"
            " any."
        ),
        settings={"slices": SLICES, "updates": UPDATES},
        run=slices,
        cases=[{"work": work} for work in WORKS],
        timed=True,
        table=table,
        judge=judge,
        draw=draw,
        axes={
            "title": "Time in the background, in times of synchronous",
            "xlabel": "% of the pairs of slices, from the best to the worst",
            "ylabel": "ratio",
        },
    )
]


if __name__ == "__main__":
    main(CLAIMS)
