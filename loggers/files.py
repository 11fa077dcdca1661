"""Files that loggers write: appended to, replaced whole, cut back after a resume."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

BEST = "best.pt"
"""The checkpoint of the best evaluation."""


class WriteError(OSError):
    """A file or folder could not be written."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(path, reason)
        self.path, self.reason = path, reason

    def __str__(self) -> str:
        return (
            f"{self.path}: could not be written ({self.reason}). What was written"
            " before is whole. Make room or choose another path, then go on: loop over"
            " the trainer again, or `yieldrl resume` the run"
        )


@contextmanager
def naming_failures(path: Path) -> Iterator[None]:
    """Context of a write: WriteError, with the path, if the system refuses it."""
    try:
        yield
    except WriteError:
        raise
    except Exception as error:
        # PyTorch raises RuntimeError while it handles that the disk is full.
        cause = error if isinstance(error, OSError) else error.__context__
        if not isinstance(cause, OSError):
            raise
        reason = cause.strerror or str(cause).partition("\n")[0]
        if cause.filename not in (None, str(path)):  # something else is in the way
            reason += f": {cause.filename}"
        raise WriteError(path, reason) from error


def append(path: Path, data: bytes, header: bytes = b"") -> int:
    """Append all bytes or none, after the header if the file is new; or WriteError.

    Returns the file's size.
    """
    with naming_failures(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            left = memoryview(data if size else header + data)
            try:
                while left:
                    left = left[file.write(left) :]
            except BaseException:
                with suppress(OSError):
                    file.truncate(size)
                raise
            return file.tell()


def write_atomically(path: Path, text: str) -> None:
    """Replace a file atomically: unchanged if killed, or after a WriteError."""
    from yieldrl.core.files import write_whole  # imports torch

    with naming_failures(path):
        write_whole(path, text.encode())
