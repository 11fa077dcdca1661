"""Learning: does an algorithm learn a task, on how many seeds, and beside what?

Every seed trains in a fresh process and is then evaluated with deterministic actions.
A task states beforehand what counts as learned; the result says whether it held. The
task's reference, another library's algorithm, can be trained on the same seeds.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from yieldrl.foundations import Config

from . import isolated, references, results
from .learned import verdict
from .tasks import TASKS, Task

SIDES = ("yieldrl", "reference", "both")
BUDGET = (
    "env_id",
    "env_kwargs",
    "wrappers",
    "total_steps",
    "eval_every",
    "eval_episodes",
)
"""Fields of the config that both sides share."""


def train_seed(name: str, seed: int, episodes: int) -> dict[str, Any]:
    """Train and evaluate one seed, in this process.

    Args:
        name: Key of `TASKS`.
        seed: The seed of everything.
        episodes: Episodes of the final evaluation.

    Returns:
        The evaluations during training (`curve`), the final one, and the seconds that
        training took.
    """
    task = TASKS[name]
    algorithm = importlib.import_module(f"yieldrl.algorithms.{task.algorithm}")
    curve: list[dict[str, float]] = []
    begin = time.perf_counter()
    with algorithm.Trainer(task.make_config(seed)) as trainer:
        for log in trainer():
            if log["log_type"] == "evaluate":
                curve.append({"sample_step": log["sample_step"], **_floats(log)})
        seconds = time.perf_counter() - begin
        final = _floats(trainer.evaluate(episodes))
    return {
        "seed": seed,
        "curve": curve,
        "final": final,
        "train_seconds": round(seconds, 2),
    }


def benchmark(
    name: str,
    command: str,
    *,
    seeds: int,
    episodes: int,
    jobs: int,
    side: str = "yieldrl",
    earlier: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Train a task on seeds 1 to `seeds`, `jobs` at a time.

    Args:
        name: Key of `TASKS`.
        command: The command line that repeats it.
        seeds: How many.
        episodes: Episodes of the final evaluation.
        jobs: Seeds at a time.
        side: One of `SIDES`.
        earlier: A result of this task, whose other side is kept.

    Raises:
        ValueError: If the reference is asked for and the task has none, or has nothing
            of yieldrl to stand beside.
    """
    task, numbers = TASKS[name], range(1, seeds + 1)
    shared = _shared(task, episodes)
    if side != "yieldrl" and task.reference is None:
        raise ValueError(f"{name} names no reference: choose --side yieldrl")
    kept = earlier if earlier and _shared_by(earlier) == shared else None
    if side == "reference" and kept is None:
        raise ValueError(
            f"{name}: a reference stands beside a result of yieldrl with the same"
            " budget: train both, or give --out a file that has it"
        )
    trained: dict[str, list[dict[str, Any]]] = {}
    for which, train in (("yieldrl", train_seed), ("reference", references.train_seed)):
        if side in (which, "both"):
            trained[which] = _train_all(train, which, name, numbers, episodes, jobs)
    result = kept if kept and side == "reference" else {}
    if "yieldrl" in trained:
        result = results.circumstances("learning", command, numbers)
        result |= described(task, name) | {"jobs": jobs, "runs": trained["yieldrl"]}
        result |= verdict(task, trained["yieldrl"], episodes)
        if kept and _fits(kept.get("reference"), task):
            result["reference"] = kept["reference"]
        elif earlier and "reference" in earlier and side == "yieldrl":
            print(f"{name}: its reference was another or had another budget: left out")
    if "reference" in trained and task.reference is not None:
        result["reference"] = {
            **results.circumstances("reference", command, numbers),
            **dataclasses.asdict(task.reference),
            "runs": trained["reference"],
        }
    return result


def _train_all(
    train: Callable[..., Any],
    which: str,
    name: str,
    numbers: Sequence[int],
    episodes: int,
    jobs: int,
) -> list[dict[str, Any]]:
    def one(seed: int) -> dict[str, Any]:
        run = isolated.call(train, 1, name=name, seed=seed, episodes=episodes)
        reached = run["final"]["episode_return"]
        print(f"{name}, {which}, seed {seed}: {reached:.4g}", flush=True)
        return run

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, numbers))


def described(task: Task, name: str) -> dict[str, Any]:
    """What a result file says about its task."""
    config = task.make_config().to_dict()
    fields = dataclasses.asdict(task)
    del fields["reference"]  # written down with its runs, where it has some
    del fields["published"]  # by others, whatever comes out here
    whole = {key: value for key, value in config.items() if key != "seed"}
    return {"task": name, **fields, "whole_config": whole}


def _shared(task: Task, episodes: int) -> dict[str, Any]:
    """What both sides have in common: the budget, and the final evaluation."""
    config = task.make_config().to_dict()
    return {name: config[name] for name in BUDGET} | {"episodes": episodes}


def _shared_by(result: dict[str, Any]) -> dict[str, Any]:
    """What both sides of a result had in common; a younger field had its default."""
    config = Config().to_dict() | result["whole_config"]
    episodes = result["runs"][0]["final"]["episodes"]
    return {name: config[name] for name in BUDGET} | {"episodes": episodes}


def _fits(reference: dict[str, Any] | None, task: Task) -> bool:
    """Whether an earlier reference is still the one that the task names."""
    if reference is None or task.reference is None:
        return False
    wanted = json.loads(json.dumps(dataclasses.asdict(task.reference)))
    return all(reference.get(name) == value for name, value in wanted.items())


def _floats(log: Any) -> dict[str, float]:
    return {name: float(value) for name, value in log["logs"].items()}
