"""Rollout workers are killed at random while PPO trains, and every row is counted."""

import random
import secrets
import threading
from collections import defaultdict
from contextlib import closing
from typing import Any

import gymnasium as gym
import numpy as np

from yieldrl.algorithms import ppo
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import values
from yieldrl.benchmarks.style import dots
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_most

KILLS = 20  # a seed
SECONDS = 2.0  # between two, in the mean
FIELDS: dict[str, Any] = {
    "num_envs": 4,
    "rollout_workers": 4,
    "num_steps": 16,
    "max_policy_lag": 2,
    "num_epochs": 1,
    "num_minibatches": 1,
    "total_steps": 1_000_000_000,
    "eval_every": 0,
    "device": "cpu",
    "collection": "ray",
}
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


def table(runs: Runs) -> Table:
    kills, lost, rows = (sum(values(runs, k)) for k in ("kills", "lost", "rows"))
    most = [str(max(values(runs, name))) for name in ("twice", "missing")]
    header = ["kills", "segments lost", "rows", "twice", "missing"]
    return header, [[str(kills), str(lost), f"{rows:,}", *most]]


def judge(runs: Runs) -> list[Demand]:
    unseen = sum(values(runs, "kills")) - sum(values(runs, "restarts"))
    return [
        at_most("rows that came twice", max(values(runs, "twice")), 0),
        at_most("rows missing before others", max(values(runs, "missing")), 0),
        at_most("kills, less workers started again", unseen, 0),
    ]


def draw(axes: Any, runs: Runs) -> None:
    seeds = values(runs, "seed")
    dots(axes, {name: (seeds, values(runs, name)) for name in ("kills", "lost")})


CLAIMS = [
    Trial(
        name="cluster-kills",
        statement=(
            "However often rollout workers are killed, no row that was handed over is"
            " missing in between, and none comes twice."
        ),
        settings={"kills": KILLS, "seconds": SECONDS, **FIELDS},
        run=train,
        timed=True,  # one Ray at a time
        table=table,
        judge=judge,
        draw=draw,
        axes={
            "title": "Rollout workers killed at random while PPO trains",
            "xlabel": "seed",
            "ylabel": "kills, and segments lost by them",
        },
    )
]


if __name__ == "__main__":
    main(CLAIMS)
