"""A run's folder, and loading what was saved."""

import json
import os
import shutil
import socket
import subprocess
import sys

import pytest

from yieldrl.abstractions import Trainer
from yieldrl.experiments import (
    CheckpointError,
    Config,
    Run,
    RunInUseError,
    load_checkpoint,
    save_checkpoint,
)


class Counter:
    """The least that can be saved and loaded."""

    config_class = Config
    load = classmethod(Trainer.load.__func__)
    save = Trainer.save

    def __init__(self, config):
        self.config, self.run = config, Run("counter", config)
        self.count = self.closed = 0

    def state_dict(self):
        return {"count": self.count}

    def load_state_dict(self, state):
        self.count = state["count"] + 0

    def close(self):
        self.run.close()
        self.closed += 1


def counter(tmp_path, **config):
    return Counter(Config(run_root=str(tmp_path / "runs"), **config))


def test_a_folder_is_named_after_algorithm_environment_and_seed(tmp_path):
    one = counter(tmp_path, env_id="my.module:ALE/Pong-v5", seed=7)
    assert not (tmp_path / "runs").exists()
    assert "-my.module-ALE-Pong-v5-seed7-" in one.run.folder.name
    assert one.run.folder.is_dir()
    assert one.run.folder is one.run.folder  # and what holds something is not shared
    for name in ("mine", "mine-2", "mine-3"):
        folder = counter(tmp_path, run_name="mine").run.folder
        assert folder == tmp_path / "runs" / name
        (folder / "logs.csv").touch()
    together = [counter(tmp_path, run_name="other") for _ in range(3)]
    names = [one.run.folder.name for one in together]
    assert names == ["other", "other-2", "other-3"]


LEFT = [".run.json.tmp", ".config.yaml.tmp", "checkpoints/.step_000000001.pt.ab.tmp"]
LEFT += ["checkpoints/.checkpoints.json.tmp", "videos/.step_000000001.tmp.mp4"]


def test_what_a_kill_left_half_written_goes_with_the_next_claim(tmp_path):
    folder = counter(tmp_path, run_name="mine").run.claim()
    (folder / "logs.csv").touch()
    for name in LEFT:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    again = counter(tmp_path)
    again.run.folder = folder
    again.run.claim()
    left = {path.name for path in folder.rglob("*") if path.is_file()}
    assert left == {"logs.csv", "owner.json", ".lock"}


def test_what_was_saved_goes_on_in_its_folder(tmp_path):
    one = counter(tmp_path, seed=5, run_name="mine")
    one.count = 3
    before = one.save(tmp_path / "before.pt")  # nobody has asked for the folder yet
    assert load_checkpoint(before)["run_dir"] is None
    path = one.save(one.run.folder / "one.pt")
    again = Counter.load(path)
    assert (again.count, again.config, again.run.folder) == (
        3,
        one.config,
        one.run.folder,
    )
    assert load_checkpoint(path)["algorithm"] == __name__
    assert load_checkpoint(path)["trainer"] == f"{__name__}.Counter"
    assert Counter.load(path, config=Config(seed=6)).config.seed == 6


def test_what_does_not_fit_or_no_trainer_saved_is_refused(tmp_path, monkeypatch):
    closed = []
    monkeypatch.setattr(Counter, "close", lambda self: closed.append(self))
    header = {"algorithm": "other", "trainer": "other.Trainer"}
    for state, message in (
        ({"config": {"gamma": 1}}, "no field 'gamma'"),
        ({"config": {"seed": -1}}, "seed = -1"),
        ({"config": {}}, "'count'"),
        ({"config": {}, "count": "three"}, "str"),
    ):
        path = save_checkpoint({**header, **state}, tmp_path / "other.pt")
        said = r"other\.pt: saved by other"
        with pytest.raises(CheckpointError, match=said) as error:
            Counter.load(path, saved_by="other.Trainer")
        assert message in str(error.value)
    assert len(closed) == 2, "one could not be made, and one had to be closed"
    for name in ("algorithm", "trainer", "config"):
        for value in (None, 3):
            state = {**header, "config": {}, name: value}
            path = save_checkpoint(state, tmp_path / "other.pt")
            message = rf"not the checkpoint of a trainer, it has no '{name}'"
            with pytest.raises(CheckpointError, match=message):
                Counter.load(path)


def test_another_class_is_refused_unless_it_is_meant(tmp_path):
    class Other(Counter):
        pass

    path = counter(tmp_path).save(tmp_path / "one.pt")
    said = r"one\.pt: saved by .*Counter, not by .*"
    with pytest.raises(CheckpointError, match=said) as caught:
        Other.load(path)
    choice = f"load(path, saved_by='{__name__}.Counter')"
    assert choice in str(caught.value)
    other = Other.load(path, saved_by=f"{__name__}.Counter")
    assert Other.load(other.save(tmp_path / "two.pt")).count == 0


def test_a_relative_folder_is_found_again_from_elsewhere(tmp_path, monkeypatch):
    """Not a folder of the same name that lies where the working directory is now."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    config = Config(run_root="runs", run_name="mine")
    monkeypatch.chdir(tmp_path / "a")
    here = Counter(config)
    path = here.save(here.run.claim() / "half.pt")
    monkeypatch.chdir(tmp_path / "b")
    there = Counter(config)
    assert there.run.claim() == tmp_path / "b" / "runs" / "mine"
    assert Counter.load(path).run.folder == tmp_path / "a" / "runs" / "mine"
    assert here.run.folder == tmp_path / "a" / "runs" / "mine"


def test_the_folder_where_a_checkpoint_lies_is_that_of_its_run(tmp_path):
    one = counter(tmp_path, run_name="mine")
    one.save(one.run.claim() / "checkpoints" / "one.pt")
    one.close()
    copied = shutil.copytree(one.run.folder, tmp_path / "copied")
    assert Counter.load(copied / "checkpoints" / "one.pt").run.folder == copied
    moved = one.run.folder.rename(tmp_path / "moved")
    assert Counter.load(moved / "checkpoints" / "one.pt").run.folder == moved


def test_the_folder_of_another_run_is_not_taken(tmp_path):
    """Neither where the run was, nor where its checkpoint was copied to."""
    first = counter(tmp_path, run_name="mine")
    path = first.save(first.run.claim() / "checkpoints" / "one.pt")
    path = shutil.copy(path, tmp_path / "one.pt")
    shutil.rmtree(first.run.folder)
    second = counter(tmp_path, run_name="mine")
    (second.run.claim() / "logs.csv").touch()
    assert first.run.folder == second.run.folder
    copied = second.run.folder / "checkpoints" / "foreign.pt"
    copied.parent.mkdir()
    shutil.copy(path, copied)
    for foreign in (path, copied):
        assert Counter.load(foreign).run.folder.name.startswith("mine-")


def test_a_folder_has_one_writer(tmp_path):
    one = counter(tmp_path, run_name="mine")
    path = one.save(one.run.claim() / "one.pt")
    assert one.run.claim() == one.run.folder  # as often as it likes
    other = Counter.load(path)  # to look at, while training goes on
    with pytest.raises(RunInUseError, match="another trainer of this process") as error:
        other.run.claim()
    assert str(one.run.folder) in str(error.value)
    one.close()
    assert other.run.claim() == one.run.folder
    with pytest.raises(RunInUseError):
        one.run.claim()
    other.count = {"itself": other}  # freed by the collector alone, and writes no more
    del other, error
    assert one.run.claim() == one.run.folder


OTHER_PROCESS = """
import sys
from pathlib import Path
from yieldrl.experiments import Config, Run
run = Run("other", Config())
run.folder = sys.argv[1]
run.claim()
print("claimed", flush=True)
sys.stdin.read()
"""


def test_another_process_is_named_and_a_killed_one_is_no_owner(tmp_path):
    folder = tmp_path / "runs" / "mine"
    folder.mkdir(parents=True)
    command = [sys.executable, "-c", OTHER_PROCESS, str(folder)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    one = counter(tmp_path)
    one.run.folder = folder
    with subprocess.Popen(command, **pipes) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"claimed\n"
        with pytest.raises(RunInUseError) as error:
            one.run.claim()
        process.kill()
    said = f"process {process.pid} on {socket.gethostname()} writes here, since 20"
    assert said in str(error.value)
    assert json.loads((folder / "owner.json").read_text())["pid"] == process.pid
    assert one.run.claim() == folder
    assert json.loads((folder / "owner.json").read_text())["pid"] == os.getpid()


def test_what_is_attached_is_saved_and_found_again(tmp_path):
    one, tally, again = (counter(tmp_path) for _ in range(3))
    one.run.attach("tally", tally)
    tally.count = 3
    one.run.attach("tally", again)  # as the next loop does
    assert again.count == 3
    again.count = 4
    loaded = Counter.load(one.save(tmp_path / "one.pt"))
    # A process that does not use the part keeps its state for the next.
    loaded = Counter.load(loaded.save(tmp_path / "two.pt"))
    loaded.run.attach("tally", tally)
    assert tally.count == 4
