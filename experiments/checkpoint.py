"""Checkpoint files: written whole or not at all, read without running any code."""

import os
import secrets
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import torch

from yieldrl.experiments.readable import also_numpy, refuse_unreadable, unreadable
from yieldrl.foundations import CheckpointError
from yieldrl.loggers.write_errors import naming_failures

FORMAT = 2
_TRAILER = b"yieldrl crc32 %08x"
_TRAILER_SIZE = len(_TRAILER % 0)


def save_checkpoint(state: dict[str, Any], path: str | Path) -> Path:
    """Write `state` to `path` atomically: readers see the old file or the new one.

    A process killed at any moment, even by `kill -9`, leaves the previous checkpoint as
    it was. The file is what `torch.save` writes, followed by a checksum of all of it:
    those of the zip archive do not cover its directory, where one flipped bit can turn
    weights into whatever the memory held.

    Args:
        state: Nested dicts and lists of what `torch.load` reads with
            `weights_only=True`, and of numbers, strings and arrays of NumPy.
        path: The file to write; missing folders are made.

    Raises:
        DiskFullError: If there is no room for it; what was at `path` stays.
        TypeError: If the state holds something that could not be read back; likewise.
        UnwritableError: If `path` is a folder, or writing is not permitted.
    """
    path = Path(path)
    with naming_failures(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    for stale in path.parent.glob(f".{path.name}.*.tmp"):
        stale.unlink(missing_ok=True)  # left by a killed process
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with naming_failures(path):
            _write(state, temporary, path)
            temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _flush_folder(path.parent)
    return path


def _write(state: dict[str, Any], temporary: Path, path: Path) -> None:
    """Write a state and its checksum; `path` is what errors call the file."""
    with temporary.open("w+b") as file:
        torch.save({"yieldrl_checkpoint": FORMAT, **state}, file)
        file.flush()
        refuse_unreadable(state, temporary, path)
        size = file.tell()
        file.seek(0)
        file.write(_trailer(file, size))
        file.flush()
        os.fsync(file.fileno())


def load_checkpoint(path: str | Path) -> dict[str, Any]:
    """Read a checkpoint onto the CPU with `weights_only=True`.

    Raises:
        FileNotFoundError: If there is no such file.
        CheckpointError: If the file is truncated, damaged (its checksum is compared) or
            something else than a checkpoint.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such checkpoint")
    _check_trailer(path)
    try:
        with also_numpy():
            state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as reason:
        remedy = f" ({reason}); {_REMEDY}"
        if names := ", ".join(unreadable(path)):
            remedy = f": it holds {names}, and reading that could run code. {_TRUST}"
        raise CheckpointError(f"{path}: not a readable checkpoint{remedy}") from reason
    if not isinstance(state, dict) or "yieldrl_checkpoint" not in state:
        raise CheckpointError(f"{path}: not written by yieldrl; {_REMEDY}")
    if state["yieldrl_checkpoint"] != FORMAT:
        found = state["yieldrl_checkpoint"]
        raise CheckpointError(
            f"{path}: format {found}, this version of yieldrl reads {FORMAT}: use the"
            " version that wrote it, or train again"
        )
    return state


def load_trainer_state(path: str | Path) -> dict[str, Any]:
    """Read the checkpoint of a trainer, which has its class and config.

    Raises:
        FileNotFoundError: If there is no such file.
        CheckpointError: If it is damaged, or no checkpoint of a trainer.
    """
    state = load_checkpoint(path)
    for name, kind in (("algorithm", str), ("trainer", str), ("config", dict)):
        if not isinstance(state.get(name), kind):
            raise CheckpointError(
                f"{path}: not the checkpoint of a trainer, it has no {name!r}; give a"
                " file that a trainer's `save` wrote"
            )
    return state


_TRUST = (
    "If you trust the file, name these to torch.serialization.add_safe_globals([...])"
    " and load it again"
)
_REMEDY = "load an earlier checkpoint of the run, or train again"


def _check_trailer(path: Path) -> None:
    with path.open("rb") as file:
        expected = _trailer(file, path.stat().st_size - _TRAILER_SIZE)
        found = file.read()
    if found[:-8] != expected[:-8]:
        raise CheckpointError(f"{path}: cut off, or no checkpoint at all; {_REMEDY}")
    if found != expected:
        raise CheckpointError(f"{path}: damaged, its checksum is wrong; {_REMEDY}")


def _trailer(file: BinaryIO, size: int) -> bytes:
    """The CRC-32 of the first `size` bytes, which are read; it follows them."""
    checksum, left = 0, size
    while left > 0 and (block := file.read(min(left, 2**20))):
        checksum = zlib.crc32(block, checksum)
        left -= len(block)
    return _TRAILER % checksum


def _flush_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system can (not on Windows)."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
