"""Result files say where their numbers come from; the committed ones too."""

import doctest
import json
import shlex
import statistics
from pathlib import Path
from typing import Any

import pytest

from yieldrl.benchmarks import learning, peers, report, results
from yieldrl.benchmarks.__main__ import parse
from yieldrl.benchmarks.env_throughput.contests import CONTESTS
from yieldrl.benchmarks.peers import summary
from yieldrl.benchmarks.registry import CLAIMS, TRIALS
from yieldrl.benchmarks.tasks import TASKS

COMMITTED = sorted(results.FOLDER.glob("*.json"))


@pytest.fixture
def result() -> dict[str, Any]:
    return results.circumstances("time", "python -m benchmarks time ppo", [1, 2])


def test_a_result_is_read_back_as_it_was_saved(
    result: dict[str, Any], tmp_path: Path
) -> None:
    path = results.save(result, tmp_path / "new" / "speed.json")
    assert results.load(path) == result


def test_the_examples_of_the_docstrings_hold() -> None:
    assert doctest.testmod(results) == doctest.TestResults(failed=0, attempted=2)


def test_a_result_has_a_line_for_every_run(
    result: dict[str, Any], tmp_path: Path
) -> None:
    """So that a difference between versions shows the runs that differ."""
    runs = [{"seed": seed, "curve": [{"sample_step": 1}] * 3} for seed in (1, 2)]
    beside = {"config": {"hidden_sizes": [64, 64]}, "runs": runs}
    path = results.save(result | {"reference": result | beside}, tmp_path / "a.json")
    lines = path.read_text("utf-8").splitlines()
    run = '{"sample_step":1},{"sample_step":1},{"sample_step":1}'
    assert lines[-6:-1] == [
        '  "runs": [',
        f'   {{"seed":1,"curve":[{run}]}},',
        f'   {{"seed":2,"curve":[{run}]}}',
        "  ]",
        " }",
    ]
    assert '  "config": {"hidden_sizes":[64,64]},' in lines


@pytest.mark.parametrize("name", results.REQUIRED)
def test_an_incomplete_result_is_refused(
    name: str, result: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=name):
        results.save(result | {name: None}, tmp_path / "speed.json")
    assert not list(tmp_path.iterdir())


def test_hardware_without_a_processor_is_refused(result: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="cpu"):
        results.check(result | {"hardware": {"cores": 2}})


def test_a_table_is_aligned_markdown() -> None:
    lines = results.table(["name", "n"], [["a", "1"], ["long name", "22"]]).splitlines()
    assert lines[0] == "| name      | n  |"
    assert lines[1] == "|-----------|----|"
    assert lines[3] == "| long name | 22 |"


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.name)
def test_committed_results_name_command_seeds_and_hardware(path: Path) -> None:
    result = results.load(path)
    results.check(result)
    assert path.read_text("utf-8") == f"{results.dumps(result)}\n", "not as saved"
    words = shlex.split(result["command"])
    assert words[:3] == ["python", "-m", "benchmarks"]
    parsed = parse(words[3:])
    if result["kind"] == "worlds":
        assert parsed.names == [result["world"]]
        check_worlds(result)
        return
    if result["kind"] == "peers":
        assert parsed.names == [result["workload"]]
        assert path.stem == f"peers-{result['workload']}"
        check_peers(result)
        return
    if result["kind"] in TRIALS:
        assert parsed.names == [result["trial"]]
        assert path.stem == f"{result['kind']}-{result['trial']}"
        check_claim(result)
        return
    assert path.stem in parsed.names
    assert [run["seed"] for run in result["runs"]] == result["seeds"]
    if result["kind"] == "learning":
        check_learning(result)
    else:
        check_evidence(result)


def check_learning(result: dict[str, Any]) -> None:
    """The verdict is that of the task as it is now, and the budget was kept."""
    task = TASKS[result["task"]]
    returns = learning.final_returns(result["runs"])
    assert (result["passed"], result["holds"]) == (
        task.passed(returns),
        task.holds(returns),
    )
    total = result["whole_config"]["total_steps"]
    sides = [result, result["reference"]] if "reference" in result else [result]
    for side in sides:
        for run in side["runs"]:
            assert run["curve"][-1]["sample_step"] >= total


def check_evidence(result: dict[str, Any]) -> None:
    """The verdict is that of the claim as it is now, and it holds."""
    claim = CLAIMS["evidence"][result["claim"]]
    measured = [run["numbers"] | run["series"] for run in result["runs"]]
    assert [run["holds"] for run in result["runs"]] == [
        bool(claim.holds(numbers)) for numbers in measured
    ]
    assert result["passed"] == claim.passed(measured)
    assert result["holds"] == (result["passed"] >= claim.needed(len(measured)))
    assert result["holds"]


def check_claim(result: dict[str, Any]) -> None:
    """The verdicts are those of the claim as it is now, and all hold."""
    assert result["demands"] == report.judged(report.claim_of(result), result["runs"])
    assert result["holds"]
    assert all(demand["holds"] for demand in result["demands"])


def check_peers(result: dict[str, Any]) -> None:
    """Five rounds or more of all sides, and verdicts of the demands as they are now."""
    workload, rounds = peers.WORKLOADS[result["workload"]], result["rounds"]
    assert len(rounds) >= 5
    assert [round_["seed"] for round_ in rounds] == result["seeds"]
    assert result["settings"] == json.loads(json.dumps(dict(workload.settings)))
    sides = {"yieldrl", *result["requirements"]}
    if workload.has_first_run and "first_run" in result["summary"]:
        sides.add("first_run")
    assert sides == set(result["summary"]) == set(result["versions_of"])
    for round_ in rounds:
        assert set(round_) == {"seed", "began", *sides}
    assert result["summary"] == summary.summarize(workload, rounds)
    assert result["demands"] == summary.judge(workload, rounds)
    assert result["stretches"] == summary.stretched(workload, rounds)


def test_results_of_peers_are_checked(result: dict[str, Any]) -> None:
    """On one that is made up, as long as none is committed."""
    workload = peers.WORKLOADS["W5"]
    answer: dict[str, Any] = dict.fromkeys(summary.TIMES, 2.0)
    answer |= {"return": -150.0, "reached": None, "curve": [[8_000, 9.0, -150.0]]}
    answer["kept"] = True
    sides = ("yieldrl", "sb3", "sbx")
    rounds = [
        {"seed": seed, "began": "now", **{side: dict(answer) for side in sides}}
        for seed in range(1, 6)
    ]
    made = result | {
        "workload": "W5",
        "seeds": [1, 2, 3, 4, 5],
        "settings": json.loads(json.dumps(dict(workload.settings))),
        "requirements": {"sb3": [], "sbx": []},
        "versions_of": {side: {} for side in sides},
        "rounds": rounds,
        "summary": summary.summarize(workload, rounds),
        "demands": summary.judge(workload, rounds),
        "stretches": summary.stretched(workload, rounds),
    }
    check_peers(made)
    rounds[0]["yieldrl"]["return"] = -900.0
    with pytest.raises(AssertionError):
        check_peers(made)


def check_worlds(result: dict[str, Any]) -> None:
    """Medians of 5 runs or more, and the verdicts of the demands as they are now."""
    assert result["runs"] >= 5
    points, threads = result["points"], result["threads"]
    for side in (of for point in points for of in point["sides"].values()):
        assert len(side["runs"]) == result["runs"]
        assert side["steps_per_second"] == statistics.median(side["runs"])
    demands = CONTESTS[result["world"]].demands
    assert result["demands"] == [of.judge(points, threads) for of in demands]


def test_the_footer_names_the_gpu(result: dict[str, Any]) -> None:
    assert not results.footer(result).startswith("A GPU")
    result["hardware"]["gpu"] = "A GPU"
    assert results.footer(result).startswith(f"A GPU, {result['hardware']['cpu']}, ")


def test_a_reference_says_where_it_comes_from_too(result: dict[str, Any]) -> None:
    reference = results.circumstances("reference", "python -m benchmarks", [1])
    results.check(result | {"reference": reference})
    with pytest.raises(ValueError, match="revision"):
        results.check(result | {"reference": reference | {"revision": ""}})
