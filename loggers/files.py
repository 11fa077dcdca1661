"""Text files that survive a kill, and can be rewound with the trainer.

Failed writes raise `DiskFullError` or `UnwritableError`.
"""

import codecs
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from yieldrl.loggers.write_errors import (
    ForeignFileError,
    make_folder,
    naming_failures,
    refuse_file,
)

Steps = tuple[int, int]
"""`sample_step` and `learn_step`: the progress of training."""

_KEEP = "surrogateescape"  # writes invalid UTF-8 back unchanged


def delete_all_leftovers(folder: Path) -> None:
    """Delete the partial files of processes that were killed while writing."""
    for place in (folder, folder / "checkpoints", folder / "videos"):
        for path in (*place.glob(".*.tmp"), *place.glob(".*.tmp.mp4")):
            if path.is_file():
                path.unlink(missing_ok=True)


def place(trainer: Any, given: str | Path | None, name: str) -> Path:
    """The `given` path, or `name` in the run's folder, claimed by this process."""
    if given is not None:
        return Path(given)
    claim = getattr(trainer, "claim", None)
    return Path(trainer.run_dir if claim is None else claim()) / name


def append(path: Path, data: bytes, header: bytes = b"") -> None:
    """Append all bytes or none, after the header if the file is new."""
    make_folder(path.parent)
    with naming_failures(path), path.open("ab", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        left = memoryview(data if size else header + data)
        try:
            while left:
                left = left[file.write(left) :]
        except BaseException:
            with suppress(OSError):
                file.truncate(size)
            raise


def write_atomically(path: Path, text: str) -> None:
    """Replace a file atomically: unchanged if killed or if the disk is full."""
    from yieldrl.foundations.files import write_whole  # imports torch

    make_folder(path.parent)
    with naming_failures(path):
        write_whole(path, text.encode("utf-8", _KEEP))


def size(path: Path) -> int:
    """Size of a file in bytes; 0 if there is none."""
    return path.stat().st_size if path.exists() else 0


def rewind(
    path: Path,
    now: Steps,
    parse: Callable[[str], Steps],
    header: str = "",
    end: int | None = None,
) -> None:
    """Drop rows of steps after the trainer's, and an incomplete last line.

    A trainer that continues from an older checkpoint takes those steps again. If rows
    of later steps are dropped, the old file is kept, with `.bak` added to its name.
    ForeignFileError if the file is not a log of this kind.

    Args:
        path: The log file; nothing happens if there is none.
        now: Steps of the trainer.
        parse: Function from a line to its steps; raises if it is no row of this log.
        header: The first line, for logs that have one.
        end: Size of the file at these steps in bytes, if known: all later bytes are
            dropped, whatever their steps. Ignored if no line ends there, because then
            the file was changed since.
    """
    refuse_file(path.parent)
    if not path.exists():
        return
    with naming_failures(path):
        content = path.read_bytes()
    # Spreadsheets may add a byte order mark, and other line ends.
    text = content.removeprefix(codecs.BOM_UTF8).decode("utf-8", _KEEP)
    whole, _, torn = text.replace("\r\n", "\n").rpartition("\n")
    lines = whole.split("\n") if whole else []
    heads = 1 if header else 0
    if header and lines[:1] != [header] and (lines or not header.startswith(torn)):
        raise _foreign(path, 1, (lines or [torn])[0])
    limit = _lines_before(end, content)
    kept, later = lines[:heads], False
    for number, line in enumerate(lines[heads:], heads + 1):
        try:
            sample_step, learn_step = parse(line)
        except (ValueError, LookupError, TypeError):
            raise _foreign(path, number, line) from None
        if sample_step > now[0] or learn_step > now[1]:
            later = True
        elif number <= limit:
            kept.append(line)
    if later:
        with naming_failures(path):
            shutil.copyfile(path, path.with_name(path.name + ".bak"))
    if torn or len(kept) < len(lines):
        write_atomically(path, "".join(line + "\n" for line in kept))


def _lines_before(end: int | None, content: bytes) -> float:
    """The number of lines in the first `end` bytes; all if no line ends there."""
    if end is None or end > len(content) or (end and content[end - 1 : end] != b"\n"):
        return float("inf")
    return content.count(b"\n", 0, end)


def _foreign(path: Path, number: int, line: str) -> ForeignFileError:
    return ForeignFileError(
        f"{path}, line {number}: {line[:60]!r} is not a row of this logger. Choose"
        " another path, or move the file away"
    )
