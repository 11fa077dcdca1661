"""Checkpoint files: whole or refused, and never a program."""

import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.serialization import safe_globals

from yieldrl.experiments import CheckpointError, load_checkpoint, save_checkpoint

STATE = {
    "weights": torch.arange(6.0).reshape(2, 3),
    "nested": {"count": 3, "list": [1.5, "text", None, True]},
}


@pytest.fixture
def saved(tmp_path):
    return save_checkpoint(STATE, tmp_path / "folder" / "step_1.pt")


def test_what_was_saved_is_loaded_by_torch_too(saved):
    for state in (load_checkpoint(saved), torch.load(saved, weights_only=True)):
        assert torch.equal(state["weights"], STATE["weights"])
        assert state["nested"] == STATE["nested"]


def is_refused(path):
    try:
        load_checkpoint(path)
    except CheckpointError as error:
        return path.name in str(error) and "earlier checkpoint" in str(error)
    return False


def test_cut_off_at_any_byte_it_is_refused(saved):
    whole = saved.read_bytes()
    for size in {*range(0, len(whole), 11), *range(len(whole) - 50, len(whole))}:
        saved.write_bytes(whole[:size])
        assert is_refused(saved), size


def test_foreign_files_are_refused(tmp_path):
    torch.save(3, tmp_path / "foreign.pt")
    with zipfile.ZipFile(tmp_path / "archive.pt", "w") as archive:
        archive.writestr("data.pkl", "hello")
    (tmp_path / "pickled.pt").write_bytes(pickle.dumps(STATE["nested"]))
    assert all(is_refused(path) for path in tmp_path.glob("*.pt"))
    with pytest.raises(FileNotFoundError, match="no such checkpoint"):
        load_checkpoint(tmp_path / "none.pt")


class Code:
    """Unpickling it would make a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (Path(self.path),)


def test_code_in_a_checkpoint_does_not_run(tmp_path):
    proof = tmp_path / "executed"
    path = tmp_path / "evil.pt"
    torch.save({"code": Code(str(proof))}, path)
    with pytest.raises(CheckpointError, match="not a readable checkpoint"):
        load_checkpoint(path)
    assert not proof.exists()


class Thing:
    """A class of somebody's own."""


def test_what_could_not_be_read_back_is_not_written(saved):
    before = saved.read_bytes()
    refused = (TypeError, AttributeError, pickle.PicklingError)
    for value, name in (
        (Thing(), r"step_1\.pt: the state holds .*test_checkpoint\.Thing"),
        (np.ones(1), r"step_1\.pt: the state holds .*numpy"),
        (lambda: None, "lambda"),  # which cannot be pickled at all
    ):
        with pytest.raises(refused, match=name):
            save_checkpoint({"agent": {"parts": [1, value]}}, saved)
        assert saved.read_bytes() == before
        assert os.listdir(saved.parent) == [saved.name]


def test_a_class_that_pytorch_was_told_of_is_written_and_read(tmp_path):
    path = tmp_path / "own.pt"
    with safe_globals([Thing]):
        save_checkpoint({"thing": Thing()}, path)
        assert isinstance(load_checkpoint(path)["thing"], Thing)
    with pytest.raises(CheckpointError, match=r"Thing"):
        load_checkpoint(path)
