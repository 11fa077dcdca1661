"""Rollout workers are killed at random while PPO trains, and every row is counted."""

import random
import secrets
import threading
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import gymnasium as gym
import numpy as np

from yieldrl.algorithms import ppo
from yieldrl.benchmarks.claim import Run, constants, values
from yieldrl.benchmarks.style import COLORS

KILLS, SECONDS, FIELDS = constants("cluster/kills", "KILLS", "SECONDS", "FIELDS")
SETTINGS = {"kills": KILLS, "seconds": SECONDS, **FIELDS}
TOTAL = ("all seeds",)
PEACE = 3  # deaths of a worker in a row
AFTER = 20  # rollouts after the last worker was started again


class Numbered(gym.Env[Any, Any]):
    """Observes its own number, drawn when it is made, and that of the step."""

    observation_space = gym.spaces.Box(0, 2.0**24, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self) -> None:
        self.seen = np.array([secrets.randbelow(2**24), 0], np.float32)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return self.seen.copy(), {}

    def step(self, action: Any) -> Any:
        threading.Event().wait(0.005)
        self.seen[1] += 1
        return self.seen.copy(), 1.0, self.seen[1] % 50 == 0, False, {}


class Killer(threading.Thread):
    """Ends random workers at random moments, none of them twice.

    One that it has ended several times before it had done anything is left in peace:
    on a busy machine to begin takes longer than the time between two deaths.
    """

    def __init__(self, pool: Any, seed: int) -> None:
        super().__init__(daemon=True)
        self.pool, self.rng = pool, random.Random(seed)
        self.over = threading.Event()
        self.killed: list[Any] = []

    def run(self) -> None:
        while len(self.killed) < KILLS:
            if self.over.wait(self.rng.expovariate(1 / SECONDS)):
                return
            index = self.rng.randrange(self.pool.count)
            actor = self.pool.actors[index]
            if actor not in self.killed and self.pool.lives.in_a_row[index] < PEACE:
                self.killed.append(actor)
                self.pool.cluster.ray.kill(actor)


def train(seed: int) -> dict[str, Any]:
    """Until all were killed and started again; what became of the rows."""
    trainer = ppo.Trainer(ppo.Config(**FIELDS, seed=seed), envs=Numbered)
    pool, steps = trainer.envs.pool, defaultdict(list)
    killer, after = Killer(pool, seed), 0
    with trainer, closing(trainer()) as loop:
        killer.start()
        try:
            for log in loop:
                if log["log_type"] != "collect" or not trainer.buffer.full:
                    continue
                rows = trainer.buffer.rollout()["obs"].reshape(-1, 2)
                for number, step in rows.to(int).tolist():
                    steps[number].append(step)
                after += len(killer.killed) == KILLS == sum(pool.lives)
                if after > AFTER:
                    break
        finally:
            killer.over.set()
        lost = trainer.collector.segments.lost
    found = {
        "rows": sum(map(len, steps.values())),
        "twice": sum(len(of) - len(set(of)) for of in steps.values()),
        "missing": sum(max(of) + 1 - len(set(of)) for of in steps.values()),
        "environments": len(steps),
    }
    done = {"seed": seed, "kills": len(killer.killed), "restarts": sum(pool.lives)}
    return done | {"lost": lost} | found


def unseen(runs: Sequence[Run]) -> int:
    return kills(runs) - sum(values(runs, "restarts"))


def kills(runs: Sequence[Run]) -> int:
    return sum(values(runs, "kills"))


def lost(runs: Sequence[Run]) -> int:
    return sum(values(runs, "lost"))


def rows(runs: Sequence[Run]) -> int:
    return sum(values(runs, "rows"))


def draw(axes: Any, runs: Sequence[Run]) -> None:
    for color, name in zip(COLORS, ("kills", "lost"), strict=False):
        axes.plot(
            values(runs, "seed"), values(runs, name), "o", color=color, label=name
        )
