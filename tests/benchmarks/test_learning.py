"""The parts of the learning benchmark and its plots that need no training."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from yieldrl.benchmarks import learning, plot, results


def run(seed: int, returns: list[float]) -> dict[str, Any]:
    points = [
        {"sample_step": 1000 * (i + 1), "episode_return": value}
        for i, value in enumerate(returns)
    ]
    names = ("episode_return", "episode_return_std")
    names += ("episode_return_min", "episode_return_max")
    final = dict.fromkeys(names, returns[-1])
    return {"seed": seed, "curve": points, "final": final, "train_seconds": 1.0}


@pytest.fixture
def result() -> dict[str, Any]:
    found = results.circumstances("learning", "python -m benchmarks", [1, 2])
    return found | {
        "algorithm": "ppo",
        "whole_config": {"env_id": "CartPole-v1"},
        "threshold": 475.0,
        "criterion": "2 of 2",
        "passed": 1,
        "holds": False,
        "runs": [run(1, [20.0, 500.0]), run(2, [30.0, 400.0])],
    }


def test_a_task_holds_when_enough_seeds_reach_the_threshold() -> None:
    task = learning.Task(algorithm="ppo", config={}, threshold=475.0)
    assert task.needed(10) == 9
    assert task.holds([475.0] * 9 + [10.0])
    assert not task.holds([500.0] * 8 + [474.9, 10.0])


def test_the_report_gives_every_seed_and_the_verdict(result: dict[str, Any]) -> None:
    report = learning.report(result)
    assert "| 2    | 400.0" in report
    assert "mean 450.0, worst 400.0" in report
    assert "DOES NOT HOLD" in report


def test_the_interval_stays_within_the_returns() -> None:
    returns = np.array([[500.0, 1.0], [500.0, 2.0], [500.0, 9.0]])
    low, high = plot.interval(returns)
    assert low[0] == high[0] == 500.0
    assert 1.0 <= low[1] < returns[:, 1].mean() < high[1] <= 9.0


def test_curves_are_drawn_the_same_each_time(
    result: dict[str, Any], tmp_path: Path
) -> None:
    path = results.save(result, tmp_path / "ppo-cartpole.json")
    files = list(plot.draw_all(tmp_path))
    assert files == [path.with_suffix(".png"), path.with_suffix(".svg")]
    first = [file.read_bytes() for file in files]
    assert [file.read_bytes() for file in plot.draw_all(tmp_path)] == first
