"""How trials are run, judged and written down."""

from typing import Any

import pytest

from yieldrl.benchmarks import isolated, measured, results
from yieldrl.benchmarks.trials import TRIALS, Trial, trial


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[trial.Options]:
    """A trial that asks of every seed to be at least 2; gives the options it got."""
    asked: list[trial.Options] = []

    def measure(options: trial.Options) -> list[dict[str, Any]]:
        asked.append(options)
        return [{"seed": seed, "size": seed} for seed in range(1, options.seeds + 1)]

    fake = Trial(
        statement="Large seeds are large.",
        measure=measure,
        judge=lambda runs: [trial.at_least("last", runs[-1]["size"], 2.0)],
        table=lambda runs: (["seed"], [[str(run["seed"])] for run in runs]),
        fill=lambda axes, runs: None,
    )
    monkeypatch.setitem(TRIALS, "test", fake)
    return asked


def test_a_trial_is_measured_and_judged(tried: list[trial.Options]) -> None:
    result = measured.benchmark(
        "collecting", "test", "python -m benchmarks", seeds=3, jobs=1
    )
    assert tried == [trial.Options(seeds=3, jobs=1)]
    assert result["seeds"] == [1, 2, 3]
    verdict = {"demand": "last", "value": 3, "bound": 2.0, "holds": True}
    assert (result["demands"], result["holds"]) == ([verdict], True)
    results.check(result)
    assert "last: 3, asked for 2: holds" in measured.report(result)


def test_a_demand_can_fail(tried: list[trial.Options]) -> None:
    result = measured.benchmark("collecting", "test", "python -m benchmarks", seeds=1)
    assert not result["holds"]
    assert "last: 1, asked for 2: DOES NOT HOLD" in measured.report(result)


def test_bounds_are_allowed_themselves() -> None:
    assert trial.at_least("a", 2.0, 2.0).holds
    assert not trial.at_least("a", 1.9, 2.0).holds
    assert trial.at_most("a", 2.0, 2.0).holds
    assert not trial.at_most("a", 2.1, 2.0).holds


def test_every_case_has_a_process_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[Any] = []

    def call(function: Any, threads: int, **case: Any) -> dict[str, Any]:
        calls.append((function, threads))
        return function(**case)

    monkeypatch.setattr(isolated, "call", call)
    cases = [{"side": "sync", "seed": 1}, {"side": "async", "seed": 2}]
    assert trial.each(dict, cases, jobs=2) == cases
    assert calls == [(dict, 1)] * 2
    assert "side sync, seed 1: done" in capsys.readouterr().out
