"""Whether anything grows while PPO and DQN train for long in one process, each with a
collector in the background. Every few seconds the loops are left and entered again."""

import time
from contextlib import ExitStack
from typing import Any

import numpy as np
import psutil

from yieldrl.algorithms import dqn, ppo
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_most

MINUTES = 20.0
EVERY = 5.0  # seconds between two looks
SETTLED = 0.2  # share of the time after which nothing may grow any more
MAX_GROWTH = 0.5  # MiB a minute: two bytes or so for each step of the environments

COMMON: dict[str, Any] = {
    "env_id": "CartPole-v1",
    "total_steps": 1_000_000_000,
    "anneal_learning_rate": False,
    "eval_every": 100_000,
    "eval_episodes": 2,
    "device": "cpu",
    "collection": "async",
}


def soak(seed: int) -> dict[str, Any]:
    """Train for some minutes, and look at the process every few seconds."""
    found: list[dict[str, float]] = []
    with ExitStack() as stack:
        trainers = [
            ppo.Trainer(ppo.Config(**COMMON, seed=seed)),
            dqn.Trainer(dqn.Config(**COMMON, buffer_size=20_000, seed=seed)),
        ]
        for trainer in trainers:
            stack.enter_context(trainer)
        begin = time.perf_counter()
        while time.perf_counter() - begin < 60 * MINUTES:
            loops = [trainer() for trainer in trainers]
            until = time.perf_counter() + EVERY
            while time.perf_counter() < until:
                for loop in loops:
                    next(loop)
            found.append({"seconds": round(time.perf_counter() - begin, 1), **look()})
            steps = [trainer.agent.sample_step for trainer in trainers]
            found[-1] |= dict(zip(("ppo", "dqn"), steps, strict=True))
            for loop in loops:
                loop.close()
    return {"runs": found}


def look() -> dict[str, float]:
    """Memory, threads and open files of this process."""
    process: Any = psutil.Process()
    on_windows = hasattr(process, "num_handles")
    return {
        "rss_mib": round(process.memory_info().rss / 2**20, 2),
        "threads": process.num_threads(),
        "handles": process.num_handles() if on_windows else process.num_fds(),
    }


def settled(runs: Runs) -> Runs:
    """The looks after the first fifth of the time."""
    begin = SETTLED * runs[-1]["seconds"]
    return [run for run in runs if run["seconds"] >= begin]


def growth(runs: Runs) -> float:
    """MiB a minute, by the least squares of what is settled."""
    minutes = [run["seconds"] / 60 for run in settled(runs)]
    sizes = [run["rss_mib"] for run in settled(runs)]
    return float(np.polyfit(minutes, sizes, 1)[0])


def judge(runs: Runs) -> list[Demand]:
    found = [at_most("growth of the memory, MiB a minute", growth(runs), MAX_GROWTH)]
    for held in ("threads", "handles"):
        counts = [run[held] for run in settled(runs)]
        spread = float(max(counts) - min(counts))
        found.append(at_most(f"{held}, most less fewest", spread, 0.0))
    return found


def table(runs: Runs) -> Table:
    after = settled(runs)
    rows = [
        [f"{run['seconds'] / 60:.1f}", f"{run['rss_mib']:.1f}"]
        + [f"{run[name]:,}" for name in ("threads", "handles", "ppo", "dqn")]
        for run in (runs[0], after[0], after[len(after) // 2], runs[-1])
    ]
    header = ["minutes", "RSS, MiB", "threads", "handles", "steps, PPO", "steps, DQN"]
    return header, rows


CLAIMS = [
    Trial(
        name="collecting-soak",
        statement=(
            "In the background for long, nothing grows: no memory, no threads, no file"
            " handles."
        ),
        settings={"every": EVERY, "settled": SETTLED, **COMMON},
        run=soak,
        table=table,
        judge=judge,
    )
]


if __name__ == "__main__":
    main(CLAIMS)
