"""Checkpoint files: whole or refused, and never a program."""

import collections
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.serialization import safe_globals

from yieldrl.experiments import CheckpointError, load_checkpoint, save_checkpoint

STATE: dict[str, Any] = {
    "weights": torch.arange(6.0).reshape(2, 3),
    "nested": {"count": 3, "list": [1.5, "text", None, True]},
}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return save_checkpoint(STATE, tmp_path / "folder" / "step_1.pt")


def test_what_was_saved_is_loaded(saved: Path) -> None:
    state = load_checkpoint(saved)
    assert torch.equal(state["weights"], STATE["weights"])
    assert state["nested"] == STATE["nested"]


def test_the_file_is_one_that_torch_reads_too(saved: Path) -> None:
    state = torch.load(saved, weights_only=True)
    assert torch.equal(state["weights"], STATE["weights"])


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such checkpoint"):
        load_checkpoint(tmp_path / "none.pt")


def is_refused(path: Path) -> bool:
    try:
        load_checkpoint(path)
    except CheckpointError as error:
        return path.name in str(error) and "earlier checkpoint" in str(error)
    return False


def test_cut_off_at_any_byte_it_is_refused(saved: Path) -> None:
    whole = saved.read_bytes()
    for size in {*range(0, len(whole), 5), *range(len(whole) - 50, len(whole))}:
        saved.write_bytes(whole[:size])
        assert is_refused(saved), size


def test_with_any_byte_flipped_it_is_refused(saved: Path) -> None:
    # In the archive's directory that once gave a tensor of whatever the memory held.
    damaged = bytearray(saved.read_bytes())
    for position in range(len(damaged))[::-3]:
        damaged[position] ^= 0xFF
        saved.write_bytes(damaged)
        assert is_refused(saved), position
        damaged[position] ^= 0xFF


def test_a_byte_far_from_the_end_of_a_large_file_is_compared_too(saved: Path) -> None:
    save_checkpoint({**STATE, "large": torch.zeros(2**18)}, saved)
    damaged = bytearray(saved.read_bytes())
    assert len(damaged) > 2**20
    damaged[2**19] ^= 0xFF
    saved.write_bytes(damaged)
    assert is_refused(saved)


class Code:
    """Unpickling it would make a file."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path(self.path),)


def test_code_in_a_checkpoint_does_not_run(tmp_path: Path) -> None:
    proof = tmp_path / "executed"
    with safe_globals([(getattr, "builtins.getattr"), Path, type(Path())]):
        path = save_checkpoint({"code": Code(str(proof))}, tmp_path / "evil.pt")
    with pytest.raises(CheckpointError, match="not a readable checkpoint") as error:
        load_checkpoint(path)
    assert not proof.exists()
    assert "it holds builtins.getattr, pathlib" in str(error.value)
    assert "train again" not in str(error.value)


class Thing:
    """A class of somebody's own."""


def test_what_could_not_be_read_back_is_not_written(saved: Path) -> None:
    before = saved.read_bytes()
    for value, said in (
        (Thing(), rf"\[1\] is a {__name__}\.Thing"),
        (frozenset([1]), r"\[1\] is a builtins\.frozenset"),
        (np.array([None]), r"\[1\] is a numpy\.ndarray"),
        (10**5000, r"\[1\] is a builtins\.int"),
        (collections.defaultdict(list), r"\[1\] is a collections\.defaultdict"),
    ):
        with pytest.raises(TypeError, match=rf"step_1\.pt: state\['agent.*{said}"):
            save_checkpoint({"agent": {"parts": [1, value]}}, saved)
        assert saved.read_bytes() == before
        assert os.listdir(saved.parent) == [saved.name]


def test_a_class_that_pytorch_was_told_of_is_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / "own.pt"
    with safe_globals([Thing]):
        save_checkpoint({"thing": Thing()}, path)
        assert isinstance(load_checkpoint(path)["thing"], Thing)
    with pytest.raises(CheckpointError, match=r"holds .*Thing.*add_safe_globals"):
        load_checkpoint(path)


def test_values_of_numpy_are_read_back(tmp_path: Path) -> None:
    numbers = [np.float64(3e-4), np.longdouble(0.5), np.complex64(1j), np.uint8(255)]
    for value in (*numbers, np.bool_(True), np.str_("Ä"), np.bytes_(b"a")):
        state = {"value": value, "array": np.array([[value, value]])}
        found = load_checkpoint(save_checkpoint(state, tmp_path / "numpy.pt"))
        assert type(found["value"]) is type(value)
        assert found["value"] == value
        assert found["array"].dtype == state["array"].dtype
        assert found["array"].tolist() == state["array"].tolist()


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    torch.save({"yieldrl_checkpoint": 1}, tmp_path / "foreign.pt")
    with zipfile.ZipFile(tmp_path / "archive.pt", "w") as archive:
        archive.writestr("data.pkl", "hello")
    (tmp_path / "pickled.pt").write_bytes(pickle.dumps(STATE["nested"]))
    (tmp_path / "empty.pt").write_bytes(b"")
    for path in tmp_path.glob("*.pt"):
        with pytest.raises(CheckpointError, match="no checkpoint at all"):
            load_checkpoint(path)


def test_other_formats_are_refused_by_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = 99
    monkeypatch.setattr("yieldrl.experiments.checkpoint.FORMAT", number)
    path = save_checkpoint(STATE, tmp_path / "other.pt")
    monkeypatch.undo()
    with pytest.raises(
        CheckpointError,
        match=f"format {number}, this version of yieldrl reads 2: use the",
    ):
        load_checkpoint(path)


def test_a_failing_save_leaves_the_old_file_and_nothing_else(saved: Path) -> None:
    before = saved.read_bytes()
    with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
        save_checkpoint({"unpicklable": lambda: None}, saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_leftovers_of_a_killed_save_are_swept_up(saved: Path) -> None:
    stale = saved.parent / f".{saved.name}.0badcafe.tmp"
    other = saved.parent / ".step_2.pt.0badcafe.tmp"
    stale.touch()
    other.touch()
    save_checkpoint(STATE, saved)
    assert not stale.exists()
    assert other.exists()
