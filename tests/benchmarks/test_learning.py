"""The parts of the learning benchmark that need no training."""

from __future__ import annotations

from typing import Any

import pytest

from yieldrl.benchmarks import learning, references, subprocesses
from yieldrl.benchmarks.tasks import TASKS, Reference, Task

TASK = Task(
    algorithm="ppo",
    config={"total_steps": 4096, "eval_every": 1024},
    threshold=475.0,
    reference=Reference(algorithm="PPO", settings={"clip_range": "lin_0.2"}),
)
OPTIONS: dict[str, Any] = {"seeds": 2, "episodes": 20, "jobs": 1}


def run(seed: int, final: float) -> dict[str, Any]:
    curve = [{"sample_step": 1024, "episode_return": final}]
    return {"seed": seed, "curve": curve, "final": {"episode_return": final}}


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, int]]:
    """Nobody trains: yieldrl reaches 450 and 500, others 100. Gives who was asked."""
    calls: list[tuple[Any, int]] = []

    def each(train: Any, cases: list[dict[str, Any]], jobs: int) -> list[Any]:
        seeds = [case["seed"] for case in cases]
        calls.extend((train, seed) for seed in seeds)
        own = train is learning.train_seed
        return [run(seed, 400.0 + 50 * seed if own else 100.0) for seed in seeds]

    monkeypatch.setitem(TASKS, "test", TASK)
    monkeypatch.setattr(subprocesses, "each", each)
    return calls


def test_one_side_alone_says_what_held(asked: list[tuple[Any, int]]) -> None:
    result = learning.benchmark("test", "mine", side="yieldrl", **OPTIONS)
    assert asked == [(learning.train_seed, 1), (learning.train_seed, 2)]
    assert (result["passed"], result["holds"]) == (1, False)
    assert result["whole_config"]["total_steps"] == 4096
    assert "seed" not in result["whole_config"]
    assert "reference" not in result


def test_both_sides_train_on_the_same_seeds(asked: list[tuple[Any, int]]) -> None:
    result = learning.benchmark("test", "both", side="both", **OPTIONS)
    assert [seed for _, seed in asked] == [1, 2, 1, 2]
    assert asked[2][0] is references.train_seed
    reference = result["reference"]
    assert (reference["algorithm"], reference["command"]) == ("PPO", "both")
    assert [one["seed"] for one in reference["runs"]] == [1, 2]
    assert result["passed"] == 1, "only our own side is judged"
    shown = learning.entries("test", result)
    assert "mean return 475 over 2 seeds, from 450 to 500" in shown["says"]
    assert "475 or more on 1 of 2: **too few**" in shown["says"]
    assert shown["summary"]["rows"][0][-1].startswith("100 (stable_baselines3 PPO, 2")


def test_a_task_without_a_reference_has_one_side(
    monkeypatch: pytest.MonkeyPatch, asked: list[tuple[Any, int]]
) -> None:
    monkeypatch.setitem(TASKS, "test", Task(algorithm="ppo"))
    with pytest.raises(ValueError, match="names no reference"):
        learning.benchmark("test", "both", side="both", **OPTIONS)
    assert not asked
    assert learning.is_control(
        learning.benchmark("test", "mine", side="yieldrl", **OPTIONS)
    )


def test_no_task_compiles_what_cannot_be_compiled() -> None:
    configs = {name: task.make_config() for name, task in TASKS.items()}
    assert not [name for name, one in configs.items() if one.compile and one.uncompiled]


def test_cloning_is_drawn_over_its_gradient_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few = {"demonstration_steps": 256, "learn_steps": 4, "eval_every": 2}
    few |= {"eval_episodes": 1, "hidden_sizes": (8,), "device": "cpu"}
    monkeypatch.setitem(TASKS, "test", Task(algorithm="behavior_cloning", config=few))
    (curve,) = learning.points([learning.train_seed("test", 1, 1)])
    assert [step for step, _ in curve] == [2, 4]
