"""The parts of the learning benchmark that need no training."""

from typing import Any

import pytest

from yieldrl.benchmarks import learning, references, report, results, subprocesses
from yieldrl.benchmarks.tasks import TASKS, Reference, Task

TASK = Task(
    algorithm="ppo",
    config={"total_steps": 4096, "eval_every": 1024},
    threshold=475.0,
    reference=Reference(algorithm="PPO", settings={"clip_range": "lin_0.2"}),
)
OPTIONS: dict[str, Any] = {"seeds": 2, "episodes": 20, "jobs": 1}


def run(seed: int, final: float, episodes: int) -> dict[str, Any]:
    names = ("episode_return", "episode_return_std")
    names += ("episode_return_min", "episode_return_max")
    reached = dict.fromkeys(names, final) | {"episodes": float(episodes)}
    curve = [{"sample_step": 1024, "episode_return": final}]
    return {"seed": seed, "curve": curve, "final": reached, "train_seconds": 1.0}


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, int]]:
    """Nobody trains: yieldrl reaches 450 to 500, others 100. Gives who was asked."""
    calls: list[tuple[Any, int]] = []

    def call(train: Any, threads: int, *, name: str, seed: int, episodes: int) -> Any:
        assert threads == 1
        calls.append((train, seed))
        own = 400.0 + 50 * seed
        return run(seed, own if train is learning.train_seed else 100.0, episodes)

    monkeypatch.setitem(TASKS, "test", TASK)
    monkeypatch.setattr(subprocesses, "call", call)
    return calls


def test_one_side_alone_says_what_held(asked: list[tuple[Any, int]]) -> None:
    result = learning.benchmark("test", "python -m benchmarks", **OPTIONS)
    assert asked == [(learning.train_seed, 1), (learning.train_seed, 2)]
    assert (result["passed"], result["holds"]) == (1, False)
    assert result["whole_config"]["total_steps"] == 4096
    assert "seed" not in result["whole_config"]
    assert "reference" not in result
    results.check(result)


def test_both_sides_train_on_the_same_seeds(asked: list[tuple[Any, int]]) -> None:
    result = learning.benchmark("test", "both", side="both", **OPTIONS)
    assert [seed for _, seed in asked] == [1, 2, 1, 2]
    assert asked[2][0] is references.train_seed
    reference = result["reference"]
    assert (reference["algorithm"], reference["command"]) == ("PPO", "both")
    assert [one["seed"] for one in reference["runs"]] == [1, 2]
    assert reference["versions"] == results.versions()
    assert result["passed"] == 1, "only our own side is judged"
    text = report.report(result)
    assert "| ppo                   | 2    | 500 " in text
    assert "ppo: mean 475, worst 450" in text
    assert "stable_baselines3 PPO: mean 100, worst 100" in text
    assert "DOES NOT HOLD" in text


def test_a_reference_is_added_to_an_earlier_result() -> None:
    first = learning.benchmark("test", "first", **OPTIONS)
    both = learning.benchmark(
        "test", "second", side="reference", earlier=dict(first), **OPTIONS
    )
    assert (both["command"], both["reference"]["command"]) == ("first", "second")
    assert both["runs"] == first["runs"]
    again = learning.benchmark("test", "third", earlier=both, **OPTIONS)
    assert (again["command"], again["reference"]["command"]) == ("third", "second")


@pytest.mark.parametrize(
    "changed",
    [
        Task(algorithm="ppo", config={"total_steps": 99}, reference=TASK.reference),
        Task(algorithm="ppo", config=TASK.config, reference=Reference(algorithm="A2C")),
        Task(algorithm="ppo", config=TASK.config),
    ],
    ids=["budget", "other", "none"],
)
def test_a_reference_that_fits_no_longer_is_left_out(
    changed: Task, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    both = learning.benchmark("test", "both", side="both", **OPTIONS)
    monkeypatch.setitem(TASKS, "test", changed)
    again = learning.benchmark("test", "again", earlier=both, **OPTIONS)
    assert "reference" not in again
    assert "left out" in capsys.readouterr().out


def test_a_reference_alone_has_nothing_to_stand_beside(
    monkeypatch: pytest.MonkeyPatch, asked: list[tuple[Any, int]]
) -> None:
    other = learning.benchmark("test", "x", seeds=1, episodes=5, jobs=1)
    asked.clear()
    for earlier in (None, other):
        with pytest.raises(ValueError, match="same budget"):
            learning.benchmark(
                "test", "x", side="reference", earlier=earlier, **OPTIONS
            )
    monkeypatch.setitem(TASKS, "test", Task(algorithm="ppo"))
    with pytest.raises(ValueError, match="names no reference"):
        learning.benchmark("test", "x", side="both", **OPTIONS)
    assert asked == []


def test_without_a_threshold_there_is_no_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(TASKS, "test", Task(algorithm="ppo", config=TASK.config))
    result = learning.benchmark("test", "x", **OPTIONS)
    assert (result["criterion"], result["holds"]) == ("none", True)
