"""Tasks and figures: each can be run, and says beforehand what counts as learned."""

import json
import statistics
from dataclasses import asdict
from typing import Any

import gymnasium
import pytest

from yieldrl.benchmarks import plot, results
from yieldrl.benchmarks.registry import CLAIMS
from yieldrl.benchmarks.tasks import FIGURES, TASKS, Task


@pytest.mark.parametrize("name", TASKS)
def test_every_task_has_a_config_that_its_algorithm_takes(name: str) -> None:
    task = TASKS[name]
    assert name.startswith(f"{task.algorithm}-")
    config = task.make_config(seed=7)
    assert config.seed == 7
    module, _, env_id = config.env_id.rpartition(":")
    if not (module or env_id.startswith("ALE/")):
        assert gymnasium.spec(env_id)
    if task.reference is not None:
        assert json.loads(json.dumps(asdict(task.reference)))
        assert config.eval_every > 0, "a curve to draw beside the reference's"


def test_a_tuned_file_gives_what_the_task_does_not_say() -> None:
    tuned = Task(algorithm="ppo", tuned="pendulum").make_config()
    changed = Task(algorithm="ppo", tuned="pendulum", config={"gamma": 0.5})
    assert tuned.env_id == changed.make_config().env_id == "Pendulum-v1"
    assert tuned.gamma == 0.9
    assert changed.make_config().gamma == 0.5
    with pytest.raises(ValueError, match="chess"):
        Task(algorithm="ppo", tuned="chess").make_config()


def test_a_task_holds_when_enough_seeds_reach_the_threshold() -> None:
    task = Task(algorithm="ppo", threshold=475.0)
    assert task.needed(10) == 9
    assert task.holds([475.0] * 9 + [10.0])
    assert not task.holds([500.0] * 8 + [474.9, 10.0])


def test_figures_compare_tasks_that_exist_and_can_be_told_apart() -> None:
    assert not FIGURES.keys() & (
        TASKS.keys() | CLAIMS["evidence"].keys()
    )  # they share a folder
    assert not TASKS.keys() & CLAIMS["evidence"].keys()
    for name, tasks in FIGURES.items():
        assert set(tasks) <= TASKS.keys(), name
        assert len(tasks) <= len(plot.COLORS), name
        assert len({TASKS[task].make_config().env_id for task in tasks}) == 1, name


ABOVE = [(name, below) for name, task in TASKS.items() for below in task.above]


@pytest.mark.parametrize(("name", "below"), ABOVE)
def test_a_task_is_compared_with_tasks_of_the_same_world_and_budget(
    name: str, below: str
) -> None:
    variant, parent = (TASKS[task].make_config().to_dict() for task in (name, below))
    shared = variant.keys() & parent.keys()
    assert {field: variant[field] for field in shared} == {
        field: parent[field] for field in shared
    }


@pytest.mark.parametrize(("name", "below"), ABOVE)
def test_committed_curves_lie_above_those_that_they_must(name: str, below: str) -> None:
    paths = [results.FOLDER / f"{task}.json" for task in (name, below)]
    missing = [path.name for path in paths if not path.exists()]
    if missing:
        pytest.skip(f"benchmarks/results lacks {missing}: `learning` was not run")
    variant, parent = (results.load(path) for path in paths)
    assert variant["seeds"] == parent["seeds"]
    assert mean_return(variant) > mean_return(parent)


def mean_return(result: dict[str, Any]) -> float:
    """Over all seeds, and all evaluations of their training."""
    curves = [run["curve"] for run in result["runs"]]
    return statistics.mean(at["episode_return"] for curve in curves for at in curve)
