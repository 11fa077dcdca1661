"""A copied algorithm folder is a program of its own."""

import importlib
import os
import runpy
import sys
from pathlib import Path

import pytest

from yieldrl.cli import catalog, main


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    forget_copies()


def forget_copies():
    """What another process would not know yet."""
    for name in [n for n in sys.modules if n.startswith(("copy_of_", "my_"))]:
        del sys.modules[name]


@pytest.mark.parametrize("name", ["gspo", "ppo_roa", "rainbow"])
def test_a_copy_is_imported_apart_from_its_original(name):
    main(["new", f"copy_of_{name}", "--from", name])
    copied = importlib.import_module(f"copy_of_{name}")
    original = importlib.import_module(f"{catalog.PACKAGE}.{name}")
    for part in catalog.PARTS:
        copied_part, original_part = getattr(copied, part), getattr(original, part)
        if original_part.__module__.startswith(f"{original.__name__}."):
            assert copied_part.__module__.startswith(f"copy_of_{name}.")
            assert copied_part is not original_part
        else:
            assert copied_part is original_part  # the parent in common


def test_a_copy_trains_and_goes_on(monkeypatch, capsys):
    main(["new", "my_ppo", "--from", "ppo"])
    options = ("--total-steps", "512", "--eval-every", "0", "--run-name", "mine")
    monkeypatch.setattr(sys, "argv", ["my_ppo", *options])
    runpy.run_module("my_ppo", run_name="__main__")  # as `python -m my_ppo` does
    out = capsys.readouterr().out
    assert "my_ppo on CartPole-v1, 20 episodes: return " in out

    # An edit of the copy is what runs, and though the folder is not in the path, as in
    # the program `yieldrl`: its checkpoint says where its trainer is found.
    forget_copies()
    others = [p for p in sys.path if p not in ("", os.getcwd())]
    monkeypatch.setattr(sys, "path", others)
    path = Path("my_ppo/trainer.py")
    path.write_text(path.read_text() + '\nprint("edited my_ppo")\n')
    run = str(Path("runs/mine"))
    main(["resume", run, "--total-steps", "1024", "--trust"])
    out = capsys.readouterr().out
    assert "edited my_ppo" in out
    assert "step_000000512.pt, step 512" in out
    assert Path("runs/mine/checkpoints/step_000001024.pt").is_file()
    forget_copies()
    main(["evaluate", run, "--episodes", "2", "--trust"])
    out = capsys.readouterr().out
    assert "my_ppo on CartPole-v1, 2 episodes: return " in out


def test_every_folder_that_is_a_program_trains():
    for name in catalog.folders():
        program = catalog.folder(name) / "__main__.py"
        assert not program.exists() or "train_command(" in program.read_text(), name
