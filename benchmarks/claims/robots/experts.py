"""How often the rules for robots' tasks succeed, and in how many steps."""

import statistics
from typing import Any

from yieldrl import envs
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import mean, values
from yieldrl.benchmarks.style import strips
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_least
from yieldrl.foundations import Config

from .speed import meta_world, push_t

EPISODES = 100
NAMES = "reach", "push", "door-open", "peg-insert-side"
TASKS = {"Push-T": push_t(wrappers=["yieldrl.envs.robots:PushT"])}
for each in NAMES:
    TASKS[f"Meta-World {each}"] = meta_world(each, terminate_on_success=True)


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


def steps(runs: Runs) -> dict[str, list[int]]:
    """Of the episodes of each task."""
    found = {task: values(runs, "steps", task=task) for task in TASKS}
    return {task: [n for run in of for n in run] for task, of in found.items()}


def table(runs: Runs) -> Table:
    rows = [
        [
            task,
            f"{mean(runs, 'success_rate', task=task):.2f}",
            f"{statistics.median(found):.0f} ({min(found)} to {max(found)})",
        ]
        for task, found in steps(runs).items()
    ]
    return ["task", "success", "steps"], rows


def judge(runs: Runs) -> list[Demand]:
    words, push = "share of episodes that succeed, in", "Push-T"
    least = min(values(runs, "success_rate"))
    return [
        at_least(f"{words} {push}", mean(runs, "success_rate", task=push), 0.95),
        at_least(f"{words} the hardest task", least, 0.8),
    ]


CLAIMS = [
    Trial(
        name="robots-experts",
        statement=(
            "Our rule for Push-T succeeds from nearly every first state, and"
            " Meta-World's own rules do most of the time what their tasks ask for."
        ),
        settings={"episodes": EPISODES},
        run=train,
        cases=[{"task": task} for task in TASKS],
        table=table,
        judge=judge,
        draw=lambda axes, runs: strips(axes, steps(runs)),
        axes={"xlabel": "steps of an episode that success ends"},
    )
]


if __name__ == "__main__":
    main(CLAIMS)
