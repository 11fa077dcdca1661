"""How many steps robots' tasks take in a second, as a trainer steps them.

Seconds are those of the processor, which others who use the machine do not lengthen.
`make robots` makes the environment in which all of them are.
"""

import time
from collections.abc import Sequence
from typing import Any

import psutil

from yieldrl import envs
from yieldrl.benchmarks.claim import Run, constants, values
from yieldrl.benchmarks.style import COLORS
from yieldrl.foundations import Config

(TASKS,) = constants("robots/speed", "TASKS")

SECONDS = 4.0
SETTINGS: dict[str, Any] = {"seconds": SECONDS, "num_envs": 1}
CASES = [{"task": name} for name in TASKS]


def train(task: str, seed: int) -> dict[str, Any]:
    """Random actions in one environment, for so many seconds after the first reset."""
    config = Config(**TASKS[task], num_envs=1, seed=seed)
    process, begin = psutil.Process(), time.process_time()
    before = process.memory_info().rss
    batch = envs.make(config.env_id, config)
    batch.action_space.seed(seed)
    batch.reset(seed=seed)
    made, steps = time.process_time() - begin, 0
    actions = [batch.action_space.sample() for _ in range(100)]
    begin = time.process_time()
    while (seconds := time.process_time() - begin) < SECONDS:
        batch.step(actions[steps % len(actions)])
        steps += 1
    memory = process.memory_info().rss - before
    batch.close()
    return {
        "task": task,
        "seed": seed,
        "steps_per_second": round(steps / seconds, 1),
        "seconds_to_make": round(made, 2),
        "mebibytes": round(memory / 2**20, 1),
    }


def draw(axes: Any, runs: Sequence[Run]) -> None:
    for place, name in enumerate(TASKS):
        found = values(runs, "steps_per_second", task=name)
        axes.plot(found, [place] * len(found), "o", color=COLORS[0], alpha=0.6)
    axes.set_yticks(range(len(TASKS)), [*TASKS])
