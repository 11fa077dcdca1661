"""Learning: does an algorithm learn a task, on how many seeds, and beside what?

Every seed trains in a fresh process and is then evaluated with deterministic actions.
The task's reference, another library's algorithm, can be trained on the same seeds.
"""

import dataclasses
import importlib
import json
import statistics
import time
from collections.abc import Sequence
from typing import Any

from yieldrl.foundations import Config

from . import references, results, subprocesses
from .tasks import TASKS, Task

SIDES = ("yieldrl", "reference", "both")
BUDGET = ("env_id", "env_kwargs", "wrappers", "total_steps", "eval_every")
BUDGET += ("eval_episodes",)  # fields of the config that both sides share


def train_seed(name: str, seed: int, episodes: int) -> dict[str, Any]:
    """Train and evaluate one seed, in this process."""
    task = TASKS[name]
    algorithm = importlib.import_module(f"yieldrl.algorithms.{task.algorithm}")
    curve: list[dict[str, float]] = []
    begin = time.perf_counter()
    with algorithm.Trainer(task.make_config(seed)) as trainer:
        for log in trainer():
            if log["log_type"] == "evaluate":
                curve.append({"sample_step": log["sample_step"], **_floats(log)})
        seconds = round(time.perf_counter() - begin, 2)
        final = _floats(trainer.evaluate(episodes))
    return {"seed": seed, "curve": curve, "final": final, "train_seconds": seconds}


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

    The other one of `SIDES` is taken from an `earlier` result of this task.

    Raises:
        ValueError: If the reference is asked for and the task has none, or has nothing
            of yieldrl to stand beside.
    """
    task, numbers = TASKS[name], range(1, seeds + 1)
    kept = _kept(name, side, earlier, episodes)
    cases = [{"name": name, "seed": s, "episodes": episodes} for s in numbers]
    result = kept if kept and side == "reference" else {}
    if side != "reference":
        runs = subprocesses.each(train_seed, cases, jobs, _outcome)
        result = results.circumstances("learning", command, numbers)
        result |= described(task, name) | {"jobs": jobs, "runs": runs}
        result |= verdict(task, runs, episodes)
        if kept and _fits(kept.get("reference"), task):
            result["reference"] = kept["reference"]
        elif earlier and "reference" in earlier and side == "yieldrl":
            print(f"{name}: its reference was another or had another budget: left out")
    if side != "yieldrl" and task.reference is not None:
        result["reference"] = {
            **results.circumstances("reference", command, numbers),
            **dataclasses.asdict(task.reference),
            "runs": subprocesses.each(references.train_seed, cases, jobs, _outcome),
        }
    return result


def _kept(
    name: str, side: str, earlier: dict[str, Any] | None, episodes: int
) -> dict[str, Any] | None:
    """The earlier result if its budget is that of now; checks that a side can run."""
    task = TASKS[name]
    if side != "yieldrl" and task.reference is None:
        raise ValueError(f"{name} names no reference: choose --side yieldrl")
    shared = _budget(task.make_config().to_dict(), episodes)
    kept = earlier if earlier and _budget_of(earlier) == shared else None
    if side == "reference" and kept is None:
        raise ValueError(
            f"{name}: a reference stands beside a result of yieldrl with the same"
            " budget: train both, or give --out a file that has it"
        )
    return kept


def described(task: Task, name: str) -> dict[str, Any]:
    """The entries of a result that describe its task."""
    config = task.make_config().to_dict()
    fields = dataclasses.asdict(task)
    del fields["reference"]  # written down with its runs, where it has some
    del fields["published"]  # by others, whatever comes out here
    whole = {key: value for key, value in config.items() if key != "seed"}
    return {"task": name, **fields, "whole_config": whole}


def verdict(
    task: Task, runs: Sequence[dict[str, Any]], episodes: int
) -> dict[str, Any]:
    """What was asked of the final returns, and whether it held."""
    if task.threshold is None:
        return {"criterion": "none", "passed": len(runs), "holds": True}
    returns = final_returns(runs)
    return {
        "criterion": (
            f"episode_return >= {task.threshold:g} over {episodes} deterministic"
            f" episodes on at least {task.needed(len(runs))} of {len(runs)} seeds"
        ),
        "passed": task.passed(returns),
        "holds": task.holds(returns),
    }


def final_returns(runs: Sequence[dict[str, Any]]) -> list[float]:
    return [run["final"]["episode_return"] for run in runs]


def world(result: dict[str, Any]) -> str:
    """The environment of a result, without the module that registers it, and the
    arguments that make it another one."""
    config = result["whole_config"]
    given = ", ".join(f"{k}={v}" for k, v in config.get("env_kwargs", {}).items())
    env_id = config["env_id"].rpartition(":")[2]
    return f"{env_id} ({given})" if given else env_id


def is_control(result: dict[str, Any]) -> bool:
    """Whether nothing was asked of it: it shows how something else compares."""
    return result.get("criterion") == "none"


def shown(result: dict[str, Any]) -> results.Shown:
    """A result as title, table and notes."""
    sides = {result["algorithm"]: result["runs"]}
    if "reference" in result:
        of = result["reference"]
        sides[f"{of['library']} {of['algorithm']}"] = of["runs"]
    header = ["side", "seed", "final return", "std", "min", "max", "seconds"]
    rows = [[side, *_row(run)] for side, runs in sides.items() for run in runs]
    notes = [
        f"{side}: mean {statistics.mean(of):.4g}, worst {min(of):.4g}"
        for side, of in zip(sides, map(final_returns, sides.values()), strict=True)
    ]
    title = f"{result['algorithm']} on {world(result)}"
    return title, (header, rows), [*notes, *results.verdicts(result)]


def _outcome(run: dict[str, Any]) -> str:
    return f"{run['final']['episode_return']:.4g}"


def _row(run: dict[str, Any]) -> list[str]:
    names = ("", "_std", "_min", "_max")
    numbers = [f"{run['final'][f'episode_return{name}']:.4g}" for name in names]
    return [str(run["seed"]), *numbers, f"{run['train_seconds']:.0f}"]


def _budget(config: dict[str, Any], episodes: float) -> dict[str, Any]:
    """What both sides have in common: the budget, and the final evaluation."""
    return {name: config[name] for name in BUDGET} | {"episodes": episodes}


def _budget_of(result: dict[str, Any]) -> dict[str, Any]:
    """That of a result; a field that is newer had its default."""
    episodes = result["runs"][0]["final"]["episodes"]
    return _budget(Config().to_dict() | result["whole_config"], episodes)


def _fits(reference: dict[str, Any] | None, task: Task) -> bool:
    """Whether an earlier reference is still the one that the task names."""
    if reference is None or task.reference is None:
        return False
    wanted = json.loads(json.dumps(dataclasses.asdict(task.reference)))
    return all(reference.get(name) == value for name, value in wanted.items())


def _floats(log: Any) -> dict[str, float]:
    return {name: float(value) for name, value in log["logs"].items()}
