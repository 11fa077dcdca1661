"""How often the rules for robots' tasks succeed, and in how many steps."""

from collections.abc import Sequence
from typing import Any

from yieldrl import envs
from yieldrl.benchmarks.claim import Run, constants
from yieldrl.benchmarks.style import COLORS
from yieldrl.foundations import Config

EPISODES, TASKS = constants("robots/experts", "EPISODES", "TASKS")
CASES = [{"task": task} for task in TASKS]
SETTINGS = {"episodes": EPISODES}


def train(seed: int, task: str) -> dict[str, Any]:
    """So many episodes of one task; success ends them."""
    config = Config(**TASKS[task], num_envs=1, seed=seed)
    batch: Any = envs.make(config.env_id, config)
    (env,), steps, successes = batch.envs, [], 0
    for number in range(EPISODES):
        env.reset(seed=1_000 * seed + number)
        terminated, truncated, count = False, False, 0
        while not (terminated or truncated):
            *_, terminated, truncated, _ = env.step(env.get_wrapper_attr("expert")())
            count += 1
        successes += terminated
        steps.append(count)
    batch.close()
    rate = successes / EPISODES
    return {"seed": seed, "task": task, "success_rate": rate, "steps": steps}


def draw(axes: Any, runs: Sequence[Run]) -> None:
    for place, task in enumerate(TASKS):
        found = [n for run in runs if run["task"] == task for n in run["steps"]]
        axes.plot(found, [place] * len(found), "o", color=COLORS[0], alpha=0.2)
    axes.set_yticks(range(len(TASKS)), [*TASKS])
