"""The parts of the speed benchmark that need no training."""

import importlib
from typing import Any

import pytest

from yieldrl.benchmarks import isolated, results, speed
from yieldrl.benchmarks.workloads import WORKLOADS


def side(speed_: float, cpu: float, updates: int = 32) -> dict[str, float]:
    return {
        "steps_per_second": speed_,
        "steps_per_cpu_second": cpu,
        "whole_run_seconds": 2.0,
        "updates": updates,
    }


PAIRS: list[dict[str, Any]] = [
    {"seed": 1, "yieldrl": side(200.0, 300.0), "sb3": side(100.0, 100.0)},
    {"seed": 2, "yieldrl": side(90.0, 300.0), "sb3": side(30.0, 100.0)},
    {"seed": 3, "yieldrl": side(400.0, 300.0), "sb3": side(400.0, 100.0)},
]


def test_ratios_pair_runs_made_next_to_each_other() -> None:
    assert speed.ratios(PAIRS) == [2.0, 3.0, 1.0]


def test_the_summary_takes_the_median_of_ratios_not_the_ratio_of_medians() -> None:
    summary = speed.summarize(PAIRS)
    assert (summary["ratio"], summary["ratio_min"], summary["ratio_max"]) == (2, 1, 3)
    assert summary["cpu_time_ratio"] == 3.0
    assert summary["yieldrl_steps_per_second"] == 200.0
    assert summary["sb3_steps_per_second"] == 100.0


def test_the_stopwatch_takes_the_time_once_at_each_mark() -> None:
    watch = speed.Stopwatch(0, 100, 200)
    passed: list[int] = []
    for step in (0, 96, 104, 104, 108, 200, 204):
        watch(step)
        passed.append(len(watch.times))
    assert passed == [1, 1, 2, 2, 2, 3, 3]
    assert watch.times == sorted(watch.times)


def test_steps_are_whole_rounds() -> None:
    workload = WORKLOADS["W1"]
    assert speed.whole_rounds(workload, None) == workload.steps
    assert speed.whole_rounds(workload, 5000) == 10 * 512
    with pytest.raises(ValueError, match="warms up"):
        speed.whole_rounds(workload, workload.warm_up)


@pytest.mark.parametrize("name", WORKLOADS)
def test_workloads_time_whole_rounds_after_the_first_update(name: str) -> None:
    workload = WORKLOADS[name]
    assert workload.steps % workload.period == 0
    first_update = max(workload.period, workload.settings.get("learning_starts", 0))
    assert first_update < workload.warm_up < workload.steps


@pytest.mark.parametrize("name", WORKLOADS)
def test_workloads_are_settings_of_their_algorithm(name: str) -> None:
    workload = WORKLOADS[name]
    algorithm = workload.title.split()[0].lower()
    module = importlib.import_module(f"yieldrl.algorithms.{algorithm}")
    assert module.Config(**workload.settings, total_steps=workload.steps)


def test_the_report_names_everything() -> None:
    measured = {"title": "PPO", "summary": speed.summarize(PAIRS)}
    result = results.circumstances("speed", "python -m benchmarks speed W1", [1, 2, 3])
    result |= {"threads": 1, "speed": "auto", "workloads": {"W1": measured}}
    report = speed.report(result)
    for part in ("W1: PPO", "2.00 (1.00 to 3.00)", "32 / 32", "[1, 2, 3]", "speed W1"):
        assert part in report
    assert result["hardware"]["cpu"] in report


def test_a_function_runs_in_a_process_of_its_own() -> None:
    assert isolated.call(results.versions, 1) == results.versions()


def test_a_failure_in_that_process_is_shown() -> None:
    with pytest.raises(RuntimeError, match="KeyError: 'W99'"):
        isolated.call(speed.measure, 1, name="W99", side="sb3", run={})
