"""How claims are run, judged and written down."""

from types import SimpleNamespace
from typing import Any

import pytest

from yieldrl.benchmarks import claim, report, results, subprocesses
from yieldrl.benchmarks.registry import CLAIMS


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[claim.Options]:
    """A claim that asks of every seed to be at least 2; gives the options it got."""
    asked: list[claim.Options] = []

    def measure(options: claim.Options) -> list[dict[str, Any]]:
        asked.append(options)
        return [{"seed": seed, "size": seed} for seed in range(1, options.seeds + 1)]

    code = SimpleNamespace(
        measure=measure,
        judge=lambda runs: [claim.at_least("last", runs[-1]["size"], 2.0)],
        table=lambda runs: (["seed"], [[str(run["seed"])] for run in runs]),
    )
    fake = claim.Claim(statement="Large seeds are large.", module=code)
    monkeypatch.setitem(CLAIMS["collecting"], "test", fake)
    return asked


def test_a_claim_is_measured_and_judged(tried: list[claim.Options]) -> None:
    result = report.benchmark(
        "collecting", "test", "python -m benchmarks", seeds=3, jobs=1
    )
    assert tried == [claim.Options(seeds=3, jobs=1)]
    assert result["seeds"] == [1, 2, 3]
    verdict = {"demand": "last", "value": 3, "bound": 2.0, "holds": True}
    assert (result["demands"], result["holds"]) == ([verdict], True)
    results.check(result)
    assert "last: 3, asked for 2: holds" in report.report(result)


def test_a_demand_can_fail(tried: list[claim.Options]) -> None:
    result = report.benchmark("collecting", "test", "python -m benchmarks", seeds=1)
    assert not result["holds"]
    assert "last: 1, asked for 2: DOES NOT HOLD" in report.report(result)


def test_bounds_are_allowed_themselves() -> None:
    assert claim.at_least("a", 2.0, 2.0).holds
    assert not claim.at_least("a", 1.9, 2.0).holds
    assert claim.at_most("a", 2.0, 2.0).holds
    assert not claim.at_most("a", 2.1, 2.0).holds


def test_every_case_has_a_process_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[Any] = []

    def call(function: Any, threads: int, **case: Any) -> dict[str, Any]:
        calls.append((function, threads))
        return function(**case)

    monkeypatch.setattr(subprocesses, "call", call)
    cases = [{"side": "sync", "seed": 1}, {"side": "async", "seed": 2}]
    assert subprocesses.each(dict, cases, jobs=2) == cases
    assert calls == [(dict, 1)] * 2
    assert "side sync, seed 1: done" in capsys.readouterr().out
    several = [{"runs": [{"seed": 1}, {"seed": 2}]}, {"seed": 3}]
    answers = [{"seed": seed} for seed in (1, 2, 3)]
    assert subprocesses.each(dict, several, jobs=1) == answers


@pytest.mark.parametrize(("timed", "jobs"), [(True, 1), (False, 3)])
def test_every_case_is_run_with_every_seed(
    timed: bool, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocesses, "each", lambda *called, **_: [*called])
    code = SimpleNamespace(train=dict, CASES=[{"side": "a"}, {"side": "b"}])
    fake = claim.Claim(statement="", module=code, timed=timed, arguments={"name": "x"})
    function, cases, at_a_time = fake.measure(claim.Options(seeds=2, jobs=3))
    assert (function, at_a_time) == (dict, jobs)
    assert cases == [
        {"seed": seed, "name": "x", "side": side}
        for seed in (1, 2)
        for side in ("a", "b")
    ]


def test_values_are_found_by_path_and_by_entries() -> None:
    runs = [{"side": "a", "of": {"x": 1}}, {"side": "b", "of": {"x": 3}}]
    assert claim.values(runs, "of", "x", side="b") == [3]
    assert (claim.mean(runs, "of", "x"), claim.median(runs, "of", "x")) == (2, 2)
