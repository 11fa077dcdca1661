"""Which errors are mistakes at the keyboard, and what they look like."""

import io
import os
import sys
from types import SimpleNamespace

import pytest

from yieldrl.cli.errors import usage_errors
from yieldrl.experiments import CheckpointError


def test_a_mistake_is_one_line_whatever_its_message_and_ctrl_c_130(capsys):
    for kind in (CheckpointError, ImportError, MemoryError, TypeError, ValueError):
        with pytest.raises(SystemExit) as exit_, usage_errors():
            raise kind("two\n  lines")
        assert exit_.value.code == 2
        captured = capsys.readouterr()
        assert captured.err == "yieldrl: error: two lines\n"
        assert captured.out == ""
    with pytest.raises(SystemExit) as exit_, usage_errors():
        raise KeyboardInterrupt
    assert exit_.value.code == 130


def test_other_errors_are_bugs_and_all_keep_their_traceback_in_dev_mode(monkeypatch):
    """But for Ctrl-C, which is 130."""
    with pytest.raises(SystemExit, match="130"), usage_errors():
        raise KeyboardInterrupt
    with pytest.raises(KeyError), usage_errors():
        raise KeyError("bug")
    monkeypatch.setattr(sys, "flags", SimpleNamespace(dev_mode=True))
    with pytest.raises(ValueError, match="where"), usage_errors():
        raise ValueError("where does this come from?")


def test_a_console_without_a_character_gets_its_escape(monkeypatch):
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    monkeypatch.setattr(sys, "stdout", stdout)
    with usage_errors():
        print("run folder: runs/\u8f66")
    stdout.flush()
    assert stdout.buffer.getvalue().rstrip() == rb"run folder: runs/\u8f66"


def test_a_reader_that_has_gone_is_no_error(capsys, monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        with pytest.raises(SystemExit) as exit_, usage_errors():
            print("help", flush=True)
        print("what was left", flush=True)
    monkeypatch.undo()
    assert exit_.value.code == 1
    assert capsys.readouterr().err == ""
