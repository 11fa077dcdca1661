"""The folder of a run: what is written there is found again."""

import json
import os
import sys
from types import SimpleNamespace

import pytest

from yieldrl import loggers
from yieldrl.algorithms import ppo
from yieldrl.cli import run_spec
from yieldrl.core.config_blocks import to_blocks
from yieldrl.core.files import read_file
from yieldrl.experiments import Run, run_files
from yieldrl.loggers import list_checkpoints

LOGS = "log_type,sample_step,learn_step,metric,value\n"


@pytest.fixture
def run(tmp_path):
    """A run with two checkpoints; the one of step 100 was written last."""
    folder = tmp_path / "runs" / "ppo-CartPole-v1-seed3-20260101-101010"
    (folder / "checkpoints").mkdir(parents=True)
    for name in ("step_000000100.pt", "step_000000200.pt", "best.pt"):
        (folder / "checkpoints" / name).touch()
    # The run went on from an older checkpoint: step 100 was written after step 200.
    index = {"saved": ["step_000000200.pt", "step_000000100.pt"], "best": None}
    (folder / "checkpoints" / "checkpoints.json").write_text(json.dumps(index))
    return folder


def describe(folder, config=None, whole=None):
    kind = type("Trainer", (SimpleNamespace,), {"__module__": "my_ppo.trainer"})
    config = config or ppo.Config()
    whole = config.to_dict() if whole is None else whole
    run = Run("my_ppo", config)
    run.folder = folder
    run_files.describe(kind(config=config, run=run), whole)


class Wide(ppo.Model):
    """A model of one's own."""


def test_the_folder_of_a_loop_says_what_it_is_too(tmp_path):
    """Whoever begins the run, and not only on the command line."""
    options = {"run_root": str(tmp_path), "eval_every": 0, "hidden_sizes": (8,)}
    config = ppo.Config(total_steps=512, **options)
    with ppo.Trainer(config) as usual:
        for _ in loggers.csv()(usual)():
            pass
        found = run_spec.RunSpec.of(read_file(usual.run.folder / "config.yaml"), None)
        assert found.trainer_class is ppo.Trainer
        assert ppo.Config.from_file(usual.run.folder / "config.yaml") == config
        (usual.run.folder / "config.yaml").write_text("mine")
        usual.run.claim()
        assert (usual.run.folder / "config.yaml").read_text() == "mine"
    with ppo.Trainer(config, model=Wide) as own:
        said = read_file(own.run.claim() / "config.yaml")["policy"]
        assert said == {"name": f"{__name__}:Wide", "cfg": {}}


def test_a_run_in_blocks_says_the_same_and_its_loggers(tmp_path, monkeypatch):
    config = ppo.Config(env_id="Pendulum-v1", gamma=0.9)
    blocks = to_blocks(config)
    policy, loggers = {"name": "default", "cfg": {}}, [{"csv": {}}]
    blocks["algorithm"] = {"name": "ppo", "cfg": blocks["algorithm"]}
    describe(tmp_path, config, {**blocks, "policy": policy, "loggers": loggers})
    assert ppo.Config.from_file(tmp_path / "config.yaml") == config
    assert run_files.read_config(tmp_path) == {**config.to_dict(), "loggers": loggers}
    assert run_files.read_run(tmp_path)["trainer"] == "my_ppo.trainer"
    files = {".lock", "config.yaml", "owner.json", "run.json"}
    assert set(os.listdir(tmp_path)) == files
    command = run_files.read_run(tmp_path)["command"]
    monkeypatch.setattr(sys, "argv", ["yieldrl", "resume", "it"])
    describe(tmp_path, config, {**blocks, "policy": policy, "loggers": loggers})
    assert run_files.read_run(tmp_path)["command"] == command  # the one that began it


def test_a_checkpoint_is_found_by_what_it_is(run):
    """A file is taken as it is, and the last for want of a best."""
    names = [path.name for path in list_checkpoints(run)]
    assert names == ["step_000000100.pt", "step_000000200.pt"]
    for which, name in (
        ("last", "step_000000100.pt"),
        ("best", "best.pt"),
        ("step_000000200.pt", "step_000000200.pt"),
    ):
        assert run_files.find_checkpoint(run, which) == run / "checkpoints" / name
    best = run / "checkpoints" / "best.pt"
    assert run_files.find_checkpoint(best, "last") == best
    best.unlink()
    assert run_files.find_checkpoint(run, "best").name == "step_000000100.pt"


def test_what_is_not_there_is_named(run):
    with pytest.raises(FileNotFoundError, match="no such folder of a run"):
        run_files.find_checkpoint(run / "nowhere")
    with pytest.raises(FileNotFoundError, match="no checkpoints/step_"):
        run_files.find_checkpoint(run.parent)
    with pytest.raises(FileNotFoundError, match=r"step_9\.pt: .*has .*step_000000200"):
        run_files.find_checkpoint(run, "step_9.pt")
    with pytest.raises(FileNotFoundError, match=r"has a logs\.csv"):
        run_files.find_runs([run])


def test_a_curve_is_read_in_the_order_of_steps(run):
    rows = [
        "evaluate,200,8,episode_return,20.5",
        "evaluate,100,4,episode_return,10",
        "evaluate,100,4,episode_length,7",
        "train,100,4,loss,nan",
        "evaluate,300,12,episode_ret",  # torn by kill -9
    ]
    (run / "logs.csv").write_text(LOGS + "\n".join(rows))
    steps, values = run_files.read_curve(run, "episode_return", "evaluate")
    assert steps.tolist() == [100, 200]
    assert values.tolist() == [10.0, 20.5]
    assert run_files.find_runs([run.parent, run]) == [run]
    with pytest.raises(ValueError, match=r"no train/lost: did you mean 'train/loss'"):
        run_files.read_curve(run, "lost", "train")
