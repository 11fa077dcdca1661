"""Tiny runs of the command line, in this process."""

import contextlib
import shutil
import sys
from pathlib import Path

import pytest

from yieldrl.cli import main

TINY = ("--total-steps", "256", "--eval-every", "0", "--num-steps", "32")


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """The folder of a run of 256 steps."""
    folder = tmp_path_factory.mktemp("trained")
    with contextlib.chdir(folder):
        main(["train", "ppo", *TINY, "--run-name", "tiny"])
    return folder / "runs" / "tiny"


@pytest.fixture
def train(trained):
    """Trains PPO for 256 steps in `runs/tiny`, or as the options say.

    Without options, it is a copy of one run.
    """

    def run(*options, name="tiny"):
        if options:
            main(["train", "ppo", *TINY, "--run-name", name, *options])
        else:
            shutil.copytree(trained, Path("runs") / name)
        return Path("runs") / name

    return run


@pytest.fixture
def refused(capsys):
    """Runs a command that must fail with one line on stderr and code 2."""

    def run(*words):
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            main(list(words))
        assert exit_.value.code == 2
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 1, lines
        assert lines[0].startswith("yieldrl: error: ")
        return lines[0].removeprefix("yieldrl: error: ")

    return run
