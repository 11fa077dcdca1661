"""Text files that survive being killed, and go back in time with the trainer."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

Position = tuple[int, int]
"""`sample_step` and `learn_step`: how far training has come."""


def append(path: Path, text: str, header: str = "") -> None:
    """Add whole lines, after the header if the file is new.

    The file is open for this moment only: a loop that is left suspended holds no file,
    and a folder can be moved or deleted meanwhile.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8", newline="") as file:
        file.write(header + text if file.tell() == 0 else text)


def write_atomically(path: Path, text: str) -> None:
    """Replace a file: readers, and a process killed now, see the old one or the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("w", encoding="utf-8", newline="", errors=_KEEP) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def rewind(
    path: Path, now: Position, parse: Callable[[str], Position], header: str = ""
) -> None:
    """Drop the rows that lie beyond where training stands, and a torn last line.

    A trainer that goes on from an older checkpoint takes those steps again, and a
    process that was killed may have left half a line. If anything is dropped, the file
    as it was stays beside it, with `.bak` added to its name.

    Args:
        path: The log file; nothing happens if there is none.
        now: Where the trainer stands.
        parse: Where a line belongs; raises if it is not a row of this kind of log.
        header: The first line, if this kind of log has one.

    Raises:
        ValueError: If the file is something else than a log of this kind.
    """
    if not path.exists():
        return
    whole, _, torn = path.read_text("utf-8", errors=_KEEP).rpartition("\n")
    lines = whole.split("\n") if whole else []
    heads = 1 if header else 0
    if header and lines[:1] != [header] and (lines or not header.startswith(torn)):
        raise _foreign(path, 1, (lines or [torn])[0])
    kept = lines[:heads]
    for number, line in enumerate(lines[heads:], heads + 1):
        try:
            sample_step, learn_step = parse(line)
        except (ValueError, LookupError, TypeError):
            raise _foreign(path, number, line) from None
        if sample_step <= now[0] and learn_step <= now[1]:
            kept.append(line)
    if torn or len(kept) < len(lines):
        shutil.copyfile(path, path.with_name(path.name + ".bak"))
        write_atomically(path, "".join(line + "\n" for line in kept))


_KEEP = "surrogateescape"  # bytes that are no UTF-8 are written back as they were


def _foreign(path: Path, number: int, line: str) -> ValueError:
    return ValueError(
        f"{path}, line {number}: {line[:60]!r} is not a row of this logger. Choose"
        " another path, or move the file away"
    )
