"""yieldrl beside other libraries: the arithmetic, the verdicts, the tables."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from peers_made_up import SMALL, answer, three_rounds, with_first_run

from yieldrl.benchmarks import peers, report, results
from yieldrl.benchmarks.peers import measuring, summary, tables


def test_the_summary_takes_the_median_of_ratios_not_the_ratio_of_medians() -> None:
    of = summary.summarize(SMALL, three_rounds())
    assert of["sb3"]["ratio"] == 2.0
    assert of["sb3"]["ratios"] == [1.0, 3.0]
    assert (of["yieldrl"]["steps_per_second"], of["sb3"]["seconds"]) == (200.0, 2.0)
    assert (of["yieldrl"]["return"], of["yieldrl"]["returns"]) == (110.0, [100, 120])
    assert "ratio" not in of["yieldrl"]


def test_demands_are_judged_and_so_is_what_was_learned() -> None:
    fast, learned = summary.judge(SMALL, three_rounds())
    assert fast["demand"] == "times as fast as Stable-Baselines3"
    assert (fast["value"], fast["bound"], fast["holds"]) == (2.0, 2.0, True)
    assert (learned["value"], learned["bound"], learned["holds"]) == (110, 100, True)
    strict = dataclasses.replace(SMALL, learned=111.0)
    assert not summary.judge(strict, three_rounds())[1]["holds"]
    stretches = summary.stretched(SMALL, three_rounds())
    assert [(of["value"], of["holds"]) for of in stretches] == [
        (2, False),
        (0.4, False),
    ]


def test_seconds_are_compared_the_other_way_round() -> None:
    found = {"yieldrl": answer(1.0, seconds=2.0), "sb3": answer(1.0, seconds=8.0)}
    assert summary.ratio("process_seconds", found, "sb3") == 4.0
    found["yieldrl"]["reached"] = {"steps": 30, "seconds": 1.0}
    assert summary.ratio("seconds_to_target", found, "sb3") == 8.0  # at the end at best
    found["sb3"]["reached"] = {"steps": 40, "seconds": 6.0}
    assert summary.ratio("seconds_to_target", found, "sb3") == 6.0
    found["yieldrl"]["reached"] = None
    assert summary.ratio("seconds_to_target", found, "sb3") == 0.0


def test_options_choose_peers_and_steps() -> None:
    workload = peers.WORKLOADS["W3"]
    assert measuring.Options().peers_of(workload) == workload.peers
    assert measuring.Options(quick=True).peers_of(workload) == ("sb3",)
    chosen = measuring.Options(peers=("skrl", "sb3", "jax"), steps=5_000)
    assert chosen.peers_of(workload) == ("sb3", "skrl")
    assert chosen.steps_of(workload) == 3 * 2048
    with pytest.raises(ValueError, match="warms up for 4,096 steps"):
        measuring.Options(steps=10).steps_of(workload)
    with pytest.raises(ValueError, match="can run it: sb3, sbx, skrl"):
        measuring.benchmark("W3", "", peers=("rsl_rl",))


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """A result of three rounds that nobody ran."""
    monkeypatch.setitem(peers.WORKLOADS, "small", SMALL)
    monkeypatch.setattr(measuring.venvs, "python_of", lambda *_, **__: Path("python"))
    monkeypatch.setattr(measuring, "run_all", lambda _: three_rounds())
    options = {"runs": 3, "venvs": tmp_path}
    return measuring.benchmark("small", "python -m benchmarks peers small", **options)


def test_a_result_says_what_was_run(measured: dict[str, Any]) -> None:
    results.check(measured)
    assert (measured["kind"], measured["seeds"]) == ("peers", [1, 2, 3])
    assert (measured["steps"], measured["planned"]) == (50, 1_000_000)
    assert measured["requirements"]["sbx"] == peers.PEERS["sbx"].requirements
    assert measured["versions_of"]["sb3"] == {"torch": "2"}
    assert "versions" not in measured["rounds"][0]["sb3"]
    assert measured["left_out"] == {}


def test_the_report_names_everything(measured: dict[str, Any]) -> None:
    said = report.report(measured)
    for part in (
        "A small one",
        "| yieldrl, kept code | 200 ",
        "| Stable-Baselines3  | 100 ",
        "2.00 (1.00 to 3.00)",
        "times as fast as Stable-Baselines3: 2, asked for 2: holds",
        "stretch: times as fast as SBX: 0.4, asked for 1: DOES NOT HOLD",
        "yieldrl, kept code: gradient step: compiled in 1.2 s",
        "steps 10 to 50 of a run planned for 1,000,000; 1 thread",
        "python -m benchmarks peers small",
    ):
        assert part in said
    rows = peers.brief([measured]).splitlines()
    assert [cell.strip() for cell in rows[2].split("|")[2:-1]] == [
        "Stable-Baselines3",
        "kept code",
        "2.00",
        "2",
        "4",
        "",
        "",
        "110 / 120",
    ]


def test_a_target_is_reported_with_how_many_reached_it() -> None:
    found = three_rounds()
    found[0]["yieldrl"]["reached"] = {"steps": 30, "seconds": 1.5}
    workload = dataclasses.replace(SMALL, measure="seconds_to_target")
    result = {
        "summary": summary.summarize(workload, found),
        "rounds": found,
        "measure": "seconds_to_target",
    }
    assert tables.value_of(result, "yieldrl") == "1.5"
    assert tables.value_of(result, "sb3") == "never"
    assert tables.reached_of(result, "yieldrl") == "30 steps, 1.5 s (1 of 3 runs)"
    assert tables.ratio_of(result, "sb3") == "0.00 (0.00 to 1.33)"


def test_a_first_run_has_a_row_a_column_and_a_demand_of_its_own() -> None:
    found = with_first_run(three_rounds(), speed=150.0)
    of = summary.summarize(SMALL, found)
    assert [*of] == ["yieldrl", "first_run", "sb3", "sbx"]
    assert (of["yieldrl"]["kept"], of["first_run"]["kept"]) == (True, False)
    assert (of["sb3"]["ratio"], of["sb3"]["first_ratio"]) == (2.0, 1.5)
    assert of["sb3"]["first_ratios"] == [0.375, 5.0]
    fast, first, _ = summary.judge(SMALL, found)
    assert fast["demand"] == "times as fast as Stable-Baselines3"
    assert first["demand"] == "times as fast as Stable-Baselines3, in a first run"
    assert (first["value"], first["bound"], first["holds"]) == (1.5, 1.5, True)
    result = {"summary": of, "steps": 50, "cold": False, "title": "A small one"}
    assert tables.row_title(result, "yieldrl") == "yieldrl, kept code"
    assert tables.row_title(result, "first_run") == "yieldrl, first run"
    assert tables.first_ratio_of(result, "sb3") == "1.50 (0.38 to 5.00)"
    assert tables.first_ratio_of(result, "yieldrl") == " "


def test_a_row_says_whether_its_code_was_kept() -> None:
    for kept, words in ((True, "kept code"), (False, "no kept code")):
        result: dict[str, Any] = {"summary": {"yieldrl": {"kept": kept}}}
        assert tables.row_title(result, "yieldrl") == f"yieldrl, {words}"
    nothing = {"summary": {"yieldrl": {"kept": None}}}
    assert tables.row_title(nothing, "yieldrl") == "yieldrl, eager"
    before = {"summary": {"yieldrl": {}}, "cold": False}  # results of older revisions
    assert tables.row_title(before, "yieldrl") == "yieldrl, kept code"
    mixed = [answer(1.0), answer(1.0) | {"kept": False}]
    assert summary.kept(mixed) is False
    assert summary.kept([answer(1.0) | {"kept": None}]) is None


def test_first_runs_are_made_where_something_is_asked_of_them() -> None:
    asked = [name for name, of in peers.WORKLOADS.items() if of.has_first_run]
    assert asked == ["W1", "W3", "W4"]
    workload = peers.WORKLOADS["W1"]
    assert measuring.Options().own_of(workload) == ("yieldrl", "first_run")
    assert measuring.Options(quick=True).own_of(workload) == ("yieldrl",)
    assert measuring.Options().own_of(peers.WORKLOADS["W2"]) == ("yieldrl",)
