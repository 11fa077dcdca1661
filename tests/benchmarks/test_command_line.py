"""The command line of `python -m benchmarks`."""

from pathlib import Path
from typing import Any

import pytest

from yieldrl.benchmarks import __main__ as command_line
from yieldrl.benchmarks import learning, peers, results
from yieldrl.benchmarks.demos import DEMOS
from yieldrl.benchmarks.env_throughput import measuring as throughput
from yieldrl.benchmarks.env_throughput.contests import CONTESTS
from yieldrl.benchmarks.registry import CLAIMS
from yieldrl.benchmarks.tasks import TASKS

parse = command_line.parse


def test_without_a_command_it_prints_the_short_table_of_peers() -> None:
    parsed = parse([])
    assert (parsed.command, parsed.quick) == ("peers", True)
    assert parsed.names == list(peers.WORKLOADS)


def test_peers_take_workloads_and_libraries() -> None:
    parsed = parse(["peers", "W1", "short", "--peers", "sb3", "sbx", "--runs", "3"])
    assert (parsed.names, parsed.peers) == (["W1", "short"], ["sb3", "sbx"])
    assert (parsed.runs, parsed.steps, parsed.venvs) == (3, None, None)
    assert not parsed.quick
    assert parse(["peers"]).names == list(peers.WORKLOADS)


def test_imports_need_no_name() -> None:
    assert parse(["imports"]).names == ["start"]


def test_learning_takes_tasks_and_a_side() -> None:
    parsed = parse(["learning", "dqn-cartpole", "--seeds", "3", "--out", "a.json"])
    assert (parsed.command, parsed.names) == ("learning", ["dqn-cartpole"])
    assert (parsed.seeds, parsed.side, parsed.out) == (3, "yieldrl", "a.json")
    parsed = parse(["learning", "all", "--side", "both", "--out-folder", "results"])
    assert parsed.names == list(TASKS)
    assert (parsed.side, parsed.out_folder) == ("both", "results")


def test_evidence_takes_claims() -> None:
    assert parse(["evidence", "all"]).names == list(CLAIMS["evidence"])
    assert parse(["evidence", *CLAIMS["evidence"], "--jobs", "1"]).jobs == 1


def test_worlds_are_measured_from_1_to_65536_environments() -> None:
    parsed = parse(["worlds", "cartpole"])
    assert (parsed.command, parsed.names) == ("worlds", ["cartpole"])
    assert (parsed.num_envs[0], parsed.num_envs[-1]) == (1, 65536)
    assert (parsed.runs, parsed.threads, parsed.device) == (5, 1, "cpu")
    parsed = parse(["worlds", "all", "--num-envs", "1", "64", "--device", "cuda"])
    assert parsed.names == list(CONTESTS)
    assert (parsed.num_envs, parsed.device) == ([1, 64], "cuda")


def test_demos_take_a_seed() -> None:
    parsed = parse(["demos", "cartpole", "--seed", "7"])
    assert (parsed.command, parsed.names, parsed.seed) == ("demos", ["cartpole"], 7)
    assert parse(["demos", "all"]).names == list(DEMOS)
    assert parse(["demos", "goto"]).seed is None


def test_collecting_takes_claims() -> None:
    parsed = parse(["collecting", "soak", "--minutes", "0.5"])
    assert (parsed.command, parsed.names) == ("collecting", ["soak"])
    assert (parsed.seeds, parsed.jobs, parsed.minutes) == (5, 2, 0.5)
    assert parse(["collecting", "all", "--seeds", "3"]).names == list(
        CLAIMS["collecting"]
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("peers --runs 0", "at least 1"),
        ("peers W9", "W9"),
        ("peers W1 --peers rllib", "rllib"),
        ("peers W1 W2 --out a.json", "--out-folder"),
        ("learning ppo-chess", "ppo-chess"),
        ("learning", "TASK"),
        ("learning ppo-cartpole --side nobody", "nobody"),
        ("learning ppo-cartpole dqn-cartpole --out a.json", "--out-folder"),
        ("evidence ppo-cartpole", "ppo-cartpole"),
        ("collecting chess", "chess"),
        ("collecting lag soak --out a.json", "--out-folder"),
        ("worlds chess", "chess"),
        ("worlds cartpole --num-envs 0", "at least 1"),
        ("worlds cartpole pendulum --out a.json", "--out-folder"),
    ],
)
def test_mistakes_are_named(
    arguments: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse(arguments.split())
    assert complaint in capsys.readouterr().err


@pytest.fixture
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Learning benchmarks that note their arguments instead of training."""
    called: list[dict[str, Any]] = []

    def benchmark(name: str, command: str, **options: Any) -> dict[str, Any]:
        called.append({"name": name, "command": command, **options})
        if name == "ppo-pendulum":
            raise RuntimeError("it crashed")
        return results.circumstances("learning", command, [1])

    monkeypatch.setattr(learning, "benchmark", benchmark)
    monkeypatch.setattr(command_line.report, "report", lambda _: "a report")
    return called


def test_every_task_gets_its_file_and_the_command_that_repeats_it_alone(
    benchmarks: list[dict[str, Any]], tmp_path: Path
) -> None:
    words = f"learning ppo-cartpole dqn-cartpole --seeds 2 --out-folder {tmp_path}"
    command_line.main(words.split())
    for name in ("ppo-cartpole", "dqn-cartpole"):
        saved = results.load(tmp_path / f"{name}.json")
        alone = f"python -m benchmarks learning {name} --seeds 2"
        assert saved["command"] == alone  # wherever it was written
    assert "earlier" not in benchmarks[0]


def test_all_is_replaced_by_the_name(benchmarks: list[dict[str, Any]]) -> None:
    with pytest.raises(SystemExit):  # one of them crashes here
        command_line.main(["learning", "--seeds", "2", "all"])
    assert [call["name"] for call in benchmarks] == list(TASKS)
    first = benchmarks[0]
    assert (
        first["command"] == f"python -m benchmarks learning {first['name']} --seeds 2"
    )


def test_one_that_fails_does_not_stop_the_rest(
    benchmarks: list[dict[str, Any]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = f"learning ppo-pendulum ppo-cartpole --out-folder {tmp_path}"
    with pytest.raises(SystemExit) as exit_:
        command_line.main(words.split())
    assert exit_.value.code == 1
    assert "ppo-pendulum: it crashed" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["ppo-cartpole.json"]


def test_that_nothing_is_kept_is_said_before_the_first_run(
    benchmarks: list[dict[str, Any]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        command_line.main(["learning", "ppo-pendulum"])
    said = capsys.readouterr().err
    assert said.index("--out FILE or --out-folder") < said.index("it crashed")
    words = ["learning", "ppo-cartpole", f"--out-folder={tmp_path}"]
    command_line.main(words)
    assert capsys.readouterr().err == ""


def test_an_earlier_result_is_handed_over(
    benchmarks: list[dict[str, Any]], tmp_path: Path
) -> None:
    out = tmp_path / "a.json"
    words = ["learning", "ppo-cartpole", f"--out={out}"]
    command_line.main(words)
    first = results.load(out)
    assert first["command"] == "python -m benchmarks learning ppo-cartpole"
    command_line.main([*words, "--side", "reference"])
    assert benchmarks[1]["earlier"] == first
    assert benchmarks[1]["side"] == "reference"


def test_a_result_of_another_kind_is_not_written_over(
    benchmarks: list[dict[str, Any]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "a.json"
    results.save(results.circumstances("worlds", "python -m benchmarks", [0]), out)
    with pytest.raises(SystemExit):
        command_line.main(["learning", "ppo-cartpole", f"--out={out}"])
    assert "holds a result of worlds: choose another" in capsys.readouterr().err
    assert benchmarks == []


def test_a_world_gets_a_file_that_says_what_it_is(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def benchmark(name: str, command: str, **options: Any) -> dict[str, Any]:
        assert options["num_envs"] == [1, 4]
        return results.circumstances("worlds", command, [0]) | {"world": name}

    monkeypatch.setattr(throughput, "benchmark", benchmark)
    monkeypatch.setattr(command_line.report, "report", lambda _: "a report")
    words = f"worlds cartpole pendulum --num-envs 1 4 --out-folder {tmp_path}"
    command_line.main(words.split())
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["worlds-cartpole.json", "worlds-pendulum.json"]
    saved = results.load(tmp_path / "worlds-pendulum.json")
    alone = "python -m benchmarks worlds pendulum --num-envs 1 4"
    assert saved["command"] == alone


def test_peers_are_summed_up_after_the_last_and_one_may_fail(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def benchmark(name: str, command: str, **options: Any) -> dict[str, Any]:
        assert options["venvs"] == Path("there")
        if name == "W3":
            raise RuntimeError("it crashed")
        return results.circumstances("peers", command, [1]) | {"workload": name}

    monkeypatch.setattr(peers, "benchmark", benchmark)
    monkeypatch.setattr(
        command_line.report, "report", lambda of: f"report of {of['workload']}"
    )
    monkeypatch.setattr(peers, "brief", lambda found: f"{len(found)} in brief")
    words = f"peers W1 W3 W5 --venvs there --out-folder {tmp_path}"
    with pytest.raises(SystemExit):
        command_line.main(words.split())
    said = capsys.readouterr()
    assert said.out.splitlines()[-1] == "2 in brief"
    assert "report of W5" in said.out
    assert "W3: it crashed" in said.err
    saved = results.load(tmp_path / "peers-W1.json")
    assert saved["command"] == "python -m benchmarks peers W1"


def test_a_world_for_gpus_is_refused_without_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        command_line.main(["worlds", "humanoid"])
    assert "humanoid needs a GPU: choose --device cuda" in capsys.readouterr().err


def test_plot_draws_into_a_folder_and_notes_what_was_reached(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command_line.plot, "draw_all", lambda out: [out / "a.svg"])
    monkeypatch.setattr(command_line.tuned, "note_all", lambda: [tmp_path / "b.yaml"])
    command_line.main(["plot", "--out-folder", str(tmp_path)])
    assert capsys.readouterr().out.split() == [
        str(tmp_path / "a.svg"),
        str(tmp_path / "b.yaml"),
    ]
    ignored = (results.ROOT / ".gitignore").read_text("utf-8").splitlines()
    folder = parse(["plot"]).out_folder.relative_to(results.ROOT)
    assert f"{folder.parts[0]}/" in ignored
