"""How many steps robots' tasks take in a second, as a trainer steps them.

Seconds are those of the processor, which others who use the machine do not lengthen.
`make robots` makes the environment in which all of them are.
"""

import time
from collections.abc import Sequence
from typing import Any

from yieldrl import envs
from yieldrl.benchmarks.claim import Options, Run, constants, values
from yieldrl.benchmarks.style import COLORS
from yieldrl.foundations import Config

(TASKS,) = constants("robots/speed", "TASKS")

SECONDS = 2.0
SETTINGS: dict[str, Any] = {"seconds": SECONDS, "num_envs": 1}


def measure(options: Options) -> list[dict[str, Any]]:
    """Every task in turn, one round for each seed."""
    return [rate(task, seed) for seed in options.numbers for task in TASKS]


def rate(task: str, seed: int) -> dict[str, Any]:
    """Random actions in one environment, for so many seconds after the first reset."""
    config = Config(**TASKS[task], num_envs=1, seed=seed)
    begin = time.process_time()
    batch = envs.make(config.env_id, config)
    batch.action_space.seed(seed)
    batch.reset(seed=seed)
    made, steps = time.process_time() - begin, 0
    actions = [batch.action_space.sample() for _ in range(100)]
    begin = time.process_time()
    while (seconds := time.process_time() - begin) < SECONDS:
        batch.step(actions[steps % len(actions)])
        steps += 1
    batch.close()
    found = {"steps_per_second": steps / seconds, "seconds_to_make": made}
    print(f"{task}, seed {seed}: {steps / seconds:.1f} steps/s", flush=True)
    return {"task": task, "seed": seed, **{k: round(v, 2) for k, v in found.items()}}


def draw(axes: Any, runs: Sequence[Run]) -> None:
    for place, name in enumerate(TASKS):
        found = values(runs, "steps_per_second", task=name)
        axes.plot(found, [place] * len(found), "o", color=COLORS[0], alpha=0.6)
    axes.set_yticks(range(len(TASKS)), [*TASKS])
