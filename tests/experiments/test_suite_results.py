"""The file of a suite's episodes, and what is said of them."""

import json

import pytest

from yieldrl.experiments.suites import EpisodeOutcome, SuiteResults

ABOUT = {"suite": "crowds", "seed": 7, "tasks": {"few": {"num": 2}, "many": {"num": 6}}}


def outcome(task, number, success, length=3):
    said = {"episode_return": float(bool(success)), "length": length, "seconds": 0.5}
    return EpisodeOutcome(task=task, number=number, success=success, **said)


def test_each_episode_is_in_the_file_at_once_in_the_order_of_tasks(tmp_path):
    file = tmp_path / "there" / "crowds.json"
    results = SuiteResults(file, ABOUT)
    assert not file.exists()
    for task, number in [("many", 0), ("few", 1), ("few", 0)]:
        results.add(outcome(task, number, True))
    found = json.loads(file.read_text())
    where = [(one["task"], one["number"]) for one in found.pop("episodes")]
    assert where == [("few", 0), ("few", 1), ("many", 0)]
    assert found == ABOUT
    results.add(outcome("many", 4, None))
    assert SuiteResults(file, ABOUT).outcomes == results.outcomes
    assert [path.name for path in file.parent.iterdir()] == ["crowds.json"]


def test_a_file_of_another_evaluation_is_refused_and_left_alone(tmp_path):
    file = tmp_path / "a.json"
    SuiteResults(file, ABOUT).add(outcome("few", 0, True))
    before = file.read_text()
    said = r"another evaluation: seed was \[7\], and is \[8\]"
    with pytest.raises(ValueError, match=said):
        SuiteResults(file, {**ABOUT, "seed": 8})
    assert file.read_text() == before


def test_the_report_has_wilsons_intervals(tmp_path):
    """By hand, of 1 of 6 and z = 1.96: (1/6 + 0.3201) / 1.6402 = 0.2968, and beside it
    1.96 sqrt(5/216 + 0.02668) / 1.6402 = 0.2667."""
    results = SuiteResults(tmp_path / "a.json", ABOUT)
    for number in (5, 4, 0, 1, 2, 3):
        results.add(outcome("few", number, number == 3))
    few, many, suite = results.report().splitlines()
    said = " 16.7%  1 of 6, 95 % interval 3.0% to 56.4%"
    assert few == f"few              {said}"
    assert many == "many             not played"
    assert suite == f"crowds, 2 tasks  {said}"
    results = SuiteResults(tmp_path / "b.json", ABOUT)
    results.add(outcome("few", 0, None))  # nothing says what a success is
    assert results.report().startswith("few              return 0.00 +- 0.00 of 1")
