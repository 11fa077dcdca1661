"""A copied algorithm folder is a program of its own."""

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from yieldrl.cli import family, main


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in [name for name in sys.modules if name.startswith("copy_of_")]:
        del sys.modules[name]


def python(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", list(family.folders()))
def test_a_copy_is_imported_apart_from_its_original(name: str) -> None:
    main(["new", f"copy_of_{name}", "--from", name])
    copied = importlib.import_module(f"copy_of_{name}")
    original = importlib.import_module(f"{family.PACKAGE}.{name}")
    for part in family.PARTS:
        ours, theirs = getattr(copied, part), getattr(original, part)
        if theirs.__module__.startswith(f"{original.__name__}."):
            assert ours.__module__.startswith(f"copy_of_{name}.")
            assert ours is not theirs
        else:
            assert ours is theirs  # a variant's copy has the parent in common


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ppo", "dqn"])
def test_a_copy_trains_and_goes_on(name: str) -> None:
    main(["new", f"my_{name}", "--from", name])
    options = ("--total-steps", "1024", "--eval-every", "0", "--run-name", "mine")
    out = python("-m", f"my_{name}", *options)
    assert f"my_{name} on CartPole-v1, 20 episodes: return " in out

    # An edit of the copy is what runs, and -P leaves the folder out of the path as the
    # program `yieldrl` does: its checkpoint says where its trainer is found.
    path = Path(f"my_{name}/trainer.py")
    path.write_text(path.read_text() + f'\nprint("edited my_{name}")\n')
    run = str(Path("runs/mine"))
    out = python("-P", "-m", "yieldrl", "resume", run, "--total-steps", "1536")
    assert f"edited my_{name}" in out
    assert "step_000001024.pt, step 1,024" in out
    assert Path("runs/mine/checkpoints/step_000001536.pt").is_file()
    out = python("-P", "-m", "yieldrl", "evaluate", run, "--episodes", "2")
    assert f"my_{name} on CartPole-v1, 2 episodes: return " in out
