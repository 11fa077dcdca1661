"""`yieldrl evaluate`, `resume`, `plot`, `export`: what a run is good for afterwards."""

import csv
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import gymnasium as gym
import numpy as np
import psutil
import pytest
import yaml
from gymnasium.spaces import Box, Discrete

from yieldrl.algorithms import ppo
from yieldrl.cli import evaluating, main
from yieldrl.exports import JsonPolicy
from yieldrl.loggers import list_checkpoints


def steps_of(run):
    return sorted(
        int(path.stem.removeprefix("step_")) for path in list_checkpoints(run)
    )


def test_evaluate_prints_every_episode_or_plays_each_start_once(train, capsys):
    run = train()
    capsys.readouterr()
    words = ["evaluate", str(run), "--episodes", "3", "--seed", "7"]
    main(words)
    checkpoint, *episodes, summary = capsys.readouterr().out.splitlines()
    assert checkpoint == f"checkpoint: {run}/checkpoints/step_000000256.pt, step 256"
    with ppo.Trainer.load(run / "checkpoints" / "step_000000256.pt") as trainer:
        expected = evaluating.report(trainer, 3, 7, every_episode=True)
        alone = [trainer.evaluate(1, seed=seed)["logs"] for seed in (7, 8, 9)]
    assert [*episodes, summary] == expected.splitlines()
    main([*words, "--in-order"])
    _, *episodes, _ = capsys.readouterr().out.splitlines()
    lengths = [logs["episode_length"] for logs in alone]
    assert [float(line.split()[-1]) for line in episodes] == lengths
    file = run / "evaluations" / "step_000000256-seed7-3-in-order.json"
    kept = json.loads(file.read_text())
    assert (kept["sample_step"], kept["seed"]) == (256, 7)
    assert kept["episodes"] == [{"episode_return": x, "length": x} for x in lengths]


def test_a_report_says_how_often_an_episode_was_a_success(tmp_path, capsys):
    class Walk(gym.Env):
        """It takes two steps to a goal that is there."""

        observation_space, action_space = Box(-1, 1, (1,)), Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.steps = 0
            return np.zeros(1, np.float32), {}

        def step(self, action):
            self.steps += 1
            there = self.steps == 2
            return np.zeros(1, np.float32), 1.0, there, False, {"success": there}

    with ppo.Trainer(ppo.Config(eval_episodes=2), envs=Walk) as trainer:
        said = evaluating.report(trainer, 5, folder=tmp_path)
    assert ", 5 episodes: return 2.00 +- 0.00 (min 2, max 2), length 2.0" in said
    assert said.endswith(", success 100.0% (95 % interval 56.6% to 100.0%)")
    (file,) = (tmp_path / "evaluations").glob("*-5.json")
    episode = {"episode_return": 2.0, "length": 2, "success": True}
    assert json.loads(file.read_text())["episodes"] == [episode] * 5
    blocked = tmp_path / "blocked"
    blocked.touch()
    with ppo.Trainer(ppo.Config(), envs=Walk) as trainer:
        assert evaluating.report(trainer, 1, folder=blocked).startswith("ppo on")
    assert "could not be written" in capsys.readouterr().err  # and the text is there


def test_evaluate_and_resume_take_the_last_or_any_other_and_name_it(train, capsys):
    run = train("--eval-every", "128", "--eval-episodes", "3")
    folder = run / "checkpoints"
    step = json.loads((folder / "checkpoints.json").read_text())["best"]["sample_step"]
    chosen = "the best in evaluations of 3 episodes"
    last = f"{folder / 'step_000000256.pt'}, step 256"
    best = f"{folder / 'best.pt'}, step {step}, {chosen}"
    for words, said in [
        ((str(run),), last),
        ((str(run), "--checkpoint", "best"), best),
        ((str(run), "--checkpoint", "step_000000256.pt"), last),
        ((str(folder / "best.pt"),), best),
    ]:
        main(["evaluate", *words, "--episodes", "1"])
        assert f"checkpoint: {said}\n" in capsys.readouterr().out
    for path in list_checkpoints(run):
        path.unlink()
    main(["resume", str(run), "--total-steps", "384"])  # from the best alone
    assert f"goes on from {folder}/best.pt" in capsys.readouterr().out
    assert 384 in steps_of(run)


def test_status_says_how_a_run_stands_and_it_has_one_writer(train, capsys, refused):
    run = train("--eval-every", "128", "--eval-episodes", "1")
    capsys.readouterr()
    main(["status", str(run)])
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith("ppo on CartPole-v1: not running; process ")
    assert lines[0] == "steps: 256 of 256"
    assert re.fullmatch(r"last evaluation: return [\d.]+ at step 256", lines[1])
    assert lines[2:] == ["checkpoint: step_000000256.pt"]
    with ppo.Trainer.load(list_checkpoints(run)[0]) as trainer:
        trainer.run.claim()
        main(["status", str(run)])
        assert "CartPole-v1: running, process" in capsys.readouterr().out
        before = sorted(run.rglob("*"))
        message = refused("resume", str(run), "--total-steps", "512")
        assert "another trainer of this process writes here" in message
        assert sorted(run.rglob("*")) == before
    said = "runs: no folder of a run, it has no config.yaml"
    assert refused("status", "runs") == said
    said = "runs/none: no folder of a run, it is not there"
    assert refused("status", "runs/none") == said


def test_what_cannot_be_evaluated_or_go_on_gets_one_line(train, refused):
    run = str(train())
    path = list_checkpoints(Path(run))[0]
    Path("notes.txt").write_text("hello")
    Path("cut.pt").write_bytes(path.read_bytes()[:-5])
    shutil.copy(path, "alone.pt")  # in no folder of a run
    for words, said in {
        "evaluate runs/none": "no such folder of a run",
        "evaluate runs": "no checkpoints/step_*.pt",
        f"evaluate {run} --device abacus": "not usable",
        "evaluate cut.pt": "not a readable checkpoint",
        "evaluate notes.txt": "not a readable checkpoint",
        f"resume {run}": "finished, 256 of 256 steps are taken",
        f"resume {run} --total-steps 0": "total_steps = 0",
        "resume alone.pt": "finished, 256 of 256 steps are taken",
        "resume cut.pt": "not a readable checkpoint",
        "resume runs/none": "no such folder of a run",
        "train ppo --run-name ../x": "run_name = '../x': a run lies below run_root",
    }.items():
        assert said in refused(*words.split())
    shutil.rmtree(f"{run}/checkpoints")
    said = refused("resume", run)
    assert f"train again, with --config {run}/config.yaml" in said


def test_resume_ends_where_an_unbroken_run_does(train):
    """A moved run, too: the folder that was named counts, not the one of old."""
    still = ("--no-anneal-learning-rate", "--env-id", "yieldrl/CartPole-v1")
    whole = train("--total-steps", "512", *still, name="whole")
    train(*still, name="half")
    shutil.move("runs/half", "moved")
    main(["resume", "moved", "--total-steps", "512"])
    assert not Path("runs/half").exists()
    one, two = (
        ppo.Trainer.load(run / "checkpoints" / "step_000000512.pt")
        for run in (whole, Path("moved"))
    )
    unbroken, resumed = (t.model.state_dict() for t in (one, two))
    assert all((unbroken[name] == resumed[name]).all() for name in unbroken)
    logs = [(run / "logs.csv").read_text() for run in (whole, Path("moved"))]
    assert logs[0] == logs[1]


def test_an_edited_config_is_not_overwritten(train, refused):
    path = train() / "config.yaml"
    original = path.read_text()
    for block, edit, message in (
        ("algorithm", {"gamma": 0.5}, "gamma is 0.5, it ran with 0.99. A run goes on"),
        ("trainer", {"total_steps": 512}, "undo the edit, give --total-steps if that"),
    ):
        whole = yaml.safe_load(original)
        whole[block].get("cfg", whole[block]).update(edit)
        text = yaml.safe_dump(whole)
        path.write_text(text)
        error = refused("resume", "runs/tiny")
        assert error.startswith("runs/tiny/config.yaml was edited: ")
        assert message in error
        assert path.read_text() == text
    main(["resume", "runs/tiny", "--total-steps", "512"])
    assert steps_of(Path("runs/tiny")) == [256, 512]


def test_a_damaged_checkpoint_is_named_and_the_one_before_it_taken(train, capsys):
    run = train()
    main(["resume", str(run), "--total-steps", "384"])
    newest, before = list_checkpoints(run)
    newest.write_bytes(newest.read_bytes()[:1000])
    capsys.readouterr()
    main(["resume", str(run)])
    captured = capsys.readouterr()
    assert f"not usable: {newest}: not a readable" in captured.err
    assert f"goes on from {before}, step 256" in captured.out
    assert steps_of(run) == [256, 384]

    for path in list_checkpoints(run):
        path.write_bytes(b"")
    with pytest.raises(SystemExit):
        main(["resume", str(run)])
    assert "none of 2 checkpoints is usable" in capsys.readouterr().err


def test_a_trainer_that_is_not_found_gets_one_line(train, refused, monkeypatch):
    Path("renamed.py").write_text("Trainer = dict")
    for module, message in (
        ("renamed", "saved by renamed.Trainer, which is no Trainer"),
        ("gone_ppo.trainer", "run this in the folder that holds it"),
        ("json.decoder", "has no attribute 'Trainer'"),
    ):
        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(ppo.Trainer, "__module__", module)
            run = train("--seed", "2", name=module)
        assert message in refused("resume", str(run), "--trust")


def test_plot_draws_runs(train, capsys):
    evaluated = ("--eval-every", "128", "--eval-episodes", "1")
    runs = [train(*evaluated, "--seed", seed, name=seed) for seed in "12"]
    capsys.readouterr()
    main(["plot", *map(str, runs), "--out", "all.png"])
    assert capsys.readouterr().out.splitlines() == ["all.png", "all.svg"]
    assert b"ppo (2 runs)" in Path("all.svg").read_bytes()
    main(["plot", "runs", "--metric", "loss", "--log-type", "train"])
    assert Path("curves.png").is_file()


@pytest.mark.slow
def test_a_video_is_filmed(train, capsys):
    pytest.importorskip("imageio_ffmpeg", reason="videos need imageio-ffmpeg")
    pytest.importorskip("pygame", reason="CartPole is drawn by pygame")
    run = train()
    main(["play", str(run), "--video", "film/one.mp4"])
    assert Path("film/one.mp4").stat().st_size > 0
    assert "one.mp4" in capsys.readouterr().out


def test_a_log_file_that_cannot_be_written_is_named_without_a_traceback(train, capsys):
    run = train()
    (run / "logs.csv").unlink()
    (run / "logs.csv").mkdir()
    with pytest.raises(SystemExit, match="2"):
        main(["resume", str(run), "--total-steps", "384"])
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("yieldrl: error: ")
    assert "logs.csv: could not be written (Is a directory)" in line


def test_a_suite_goes_on_where_it_was_and_is_reported(train, capsys):
    Path("weights.yaml").write_text("light: {gravity: 3.0}\nheavy: {gravity: 20.0}\n")
    run = train("--env-id", "yieldrl/CartPole-v1", "--env-kwargs", "length=0.7")
    capsys.readouterr()
    words = ["evaluate", str(run), "--suite", "weights.yaml", "--seed", "5"]
    main([*words, "--episodes-per-task", "1"])
    lines = capsys.readouterr().out.splitlines()
    first, file, *episodes, light, heavy, suite = lines
    assert first == f"checkpoint: {run}/checkpoints/step_000000256.pt, step 256"
    path = run / "evaluations" / "weights.json"
    assert file == f"episodes: {path}, 2 to play"
    names = [line.partition(":")[0] for line in episodes]
    assert names == ["1/2 light 0", "2/2 heavy 0"]
    assert suite.startswith("weights, 2 tasks  return ")
    found = json.loads(path.read_text())
    assert found["sample_step"] == 256
    assert found["tasks"]["heavy"] == {"length": 0.7, "gravity": 20.0}
    one, other = found["episodes"]
    assert light == f"light             return {one['length']:.2f} +- 0.00 of 1"
    assert heavy == f"heavy             return {other['length']:.2f} +- 0.00 of 1"

    main([*words, "--episodes-per-task", "2"])
    again = capsys.readouterr().out.splitlines()
    assert again[1] == f"episodes: {path}, 2 to play"
    names = [line.partition(":")[0] for line in again[2:4]]
    assert names == ["1/2 light 1", "2/2 heavy 1"]
    assert json.loads(path.read_text())["episodes"][0] == one


def test_an_export_lies_in_the_folder_of_the_run_or_where_it_is_said(train, capsys):
    run = train("--eval-every", "128", "--eval-episodes", "1")
    capsys.readouterr()
    main(["export", str(run)])
    saved = run / "checkpoints" / "step_000000256.pt"
    assert f"policy: {run / 'policy.json'}\n" in capsys.readouterr().out
    obs = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    with ppo.Trainer.load(saved) as trainer:
        expected = trainer.agent.predict(obs)
    policy = JsonPolicy.load(run / "policy.json")
    assert (policy.predict(obs) == expected).all()
    assert policy.policy["sample_step"] == 256
    assert policy.policy["algorithm"] == "ppo"
    main(["export", str(run), "--checkpoint", "last", "--out", "deep/er/last.json"])
    assert json.loads(Path("deep/er/last.json").read_text())["sample_step"] == 256
    main(["export", str(run / "checkpoints" / "best.pt")])
    assert (run / "checkpoints" / "policy.json").is_file()


@pytest.mark.slow
def test_an_export_to_onnx(train):
    pytest.importorskip("onnxscript", reason="ONNX is written by onnxscript")
    run = train()
    main(["export", str(run), "--to", "onnx"])
    assert (run / "policy.onnx").stat().st_size > 1000


WORDS = (
    *("--env-id", "yieldrl/CartPole-v1", "--num-envs", "64", "--run-name", "killed"),
    *("--checkpoint-every", "20000"),
)
QUICK = ("--num-epochs", "1", "--num-minibatches", "1")


@pytest.mark.slow
@pytest.mark.parametrize("where", [(), ("--collection", "ray")], ids=["here", "ray"])
def test_a_killed_run_goes_on(where):
    if where:
        pytest.importorskip("ray", reason="this run is on Ray")
    steps = ("--total-steps", "100000000", "--eval-every", "0")
    command = [sys.executable, "-m", "yieldrl", "train", "ppo", *WORDS, *QUICK, *steps]
    command += where
    run = Path("runs/killed")
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            while not list_checkpoints(run):
                assert process.poll() is None, "it ended by itself"
                time.sleep(0.05)
            started = psutil.Process(process.pid).children(recursive=True)
            # Agents of Ray wait a minute for their dead node; they hold no memory.
            own = [each for each in started if "Agent" not in each.name()]
        finally:
            process.kill()
    assert len(own) >= (5 if where else 0)
    assert not psutil.wait_procs(own, timeout=600)[1]
    newest = list_checkpoints(run)[0]
    reached = int(newest.stem.removeprefix("step_"))
    main(["resume", str(run), "--total-steps", str(reached + 1)])
    after = int(list_checkpoints(run)[0].stem.removeprefix("step_"))
    assert after > reached
    with (run / "logs.csv").open() as file:
        rows = list(csv.DictReader(file))
    keys = [(r["log_type"], r["sample_step"], r["metric"]) for r in rows]
    assert len(keys) == len(set(keys)), "steps that were taken twice are logged once"
    assert max(int(row["sample_step"]) for row in rows) == after
