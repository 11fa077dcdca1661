"""How many steps robots' tasks take in a second, as a trainer steps them.

Seconds are those of the processor, which others who use the machine do not lengthen.
`make robots` makes the environment in which all of them are.
"""

import statistics
import time
from typing import Any

from yieldrl import envs
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import median, values
from yieldrl.benchmarks.style import strips
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_least
from yieldrl.foundations import Config

SECONDS = 2.0


def push_t(**kwargs: Any) -> dict[str, Any]:
    return {"env_id": "gym_pusht:gym_pusht/PushT-v0", **kwargs}


def meta_world(name: str, **kwargs: Any) -> dict[str, Any]:
    """Fields of the config for one of Meta-World's tasks."""
    return {
        "env_id": "metaworld:Meta-World/MT1",
        "env_kwargs": {"env_name": f"{name}-v3", "seed": 1, **kwargs},
        "wrappers": ["yieldrl.envs.robots:MetaWorld"],
    }


TASKS: dict[str, dict[str, Any]] = {
    "Push-T": push_t(),
    "Push-T, 96 x 96": push_t(env_kwargs={"obs_type": "pixels_agent_pos"}),
    "Meta-World reach": meta_world("reach"),
    "Meta-World push": meta_world("push"),
    "FetchReach": {"env_id": "gymnasium_robotics:FetchReach-v4"},
    "FetchPush": {"env_id": "gymnasium_robotics:FetchPush-v4"},
    "AdroitHandDoor": {"env_id": "gymnasium_robotics:AdroitHandDoor-v1"},
    "ALOHA transfer, 480 x 640": {"env_id": "gym_aloha:gym_aloha/AlohaTransferCube-v0"},
}


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
    return {"task": task, "seed": seed, **{k: round(v, 2) for k, v in found.items()}}


def table(runs: Runs) -> Table:
    rows: list[list[str]] = []
    for task in TASKS:
        found = values(runs, "steps_per_second", task=task)
        speeds = statistics.median(found), min(found), max(found)
        made = median(runs, "seconds_to_make", task=task)
        rows.append([task, *(f"{speed:.0f}" for speed in speeds), f"{made:.1f}"])
    return ["task", "steps per second", "from", "to", "seconds to make"], rows


def judge(runs: Runs) -> list[Demand]:
    """Fast enough to learn from their states in an hour."""
    words = {"Meta-World reach": "Meta-World's reach", "Push-T": "Push-T by its state"}
    return [
        at_least(
            f"{of}, steps per second", median(runs, "steps_per_second", task=task), 1000
        )
        for task, of in words.items()
    ]


CLAIMS = [
    Trial(
        name="robots-speed",
        statement=(
            "Steps of robots' tasks of other packages, resets included, with one core."
        ),
        settings={"seconds": SECONDS, "num_envs": 1},
        run=rate,
        cases=[{"task": task} for task in TASKS],
        timed=True,
        table=table,
        judge=judge,
        draw=lambda axes, runs: strips(
            axes, {task: values(runs, "steps_per_second", task=task) for task in TASKS}
        ),
        axes={"xlabel": "steps per second of a processor", "xscale": "log"},
    )
]


if __name__ == "__main__":
    main(CLAIMS)
