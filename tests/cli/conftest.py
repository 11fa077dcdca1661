"""Tiny runs of the command line, in this process."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from yieldrl.cli import main

Run = Callable[..., Path]

TINY = ("--total-steps", "256", "--eval-every", "0", "--num-steps", "32")


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.fixture
def train() -> Run:
    """Trains PPO for 256 steps in `runs/tiny`, or as the options say."""

    def run(*options: str, name: str = "tiny") -> Path:
        main(["train", "ppo", *TINY, "--run-name", name, *options])
        return Path("runs") / name

    return run


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs a command that must fail with one line on stderr and code 2."""

    def run(*words: str) -> str:
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            main(list(words))
        assert exit_.value.code == 2
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 1, lines
        assert lines[0].startswith("yieldrl: error: ")
        return lines[0].removeprefix("yieldrl: error: ")

    return run
