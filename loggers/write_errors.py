"""Errors that say in one sentence why a file could not be written."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
_REMEDIES = {
    errno.EISDIR: "There is a folder where this file goes: move it away",
    errno.ENOTDIR: "There is a file where a folder goes: move it away",
    errno.EEXIST: "There is a file where a folder goes: move it away",
    errno.EACCES: "Give yourself the permission",
    errno.EPERM: "Give yourself the permission",
    errno.EROFS: "Nothing can be written to that disk",
    errno.ENAMETOOLONG: "Give it a shorter name",
    errno.ELOOP: "A link leads back to itself: delete it",
}


class ForeignFileError(ValueError):
    """A log file contains something other than the rows of its logger."""


class WriteError(OSError):
    """A file or folder could not be written."""

    def __init__(self, path: Path, number: int, reason: str) -> None:
        super().__init__(number, reason, str(path))
        self.path, self.number, self.reason = path, number, reason

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.path, self.number, self.reason)


class DiskFullError(WriteError):
    """The disk is full; what was written before is complete."""

    def __str__(self) -> str:
        return (
            f"{self.path}: no room to write this file ({self.reason}). What was written"
            " before is whole. Make room, then go on: loop over the trainer again, or"
            " `yieldrl resume` the run"
        )


class UnwritableError(WriteError):
    """A file or folder cannot be written because of another one, or permissions."""

    def __str__(self) -> str:
        return (
            f"{self.path}: cannot be written ({self.reason})."
            f" {_REMEDIES[self.number]}, or choose another path"
        )


@contextmanager
def naming_failures(path: Path) -> Iterator[None]:
    """Context of a write: on failure raise an error with file and reason.

    DiskFullError if a full disk, a quota or the maximal file size is the cause, also
    indirectly; UnwritableError if something is in the way, or not permitted.
    """
    try:
        yield
    except WriteError:
        raise
    except Exception as error:
        if reason := _full_disk_behind(error):
            raise DiskFullError(path, errno.ENOSPC, reason) from error
        if not isinstance(error, OSError) or error.errno not in _REMEDIES:
            raise
        number = errno.EISDIR if path.is_dir() else error.errno
        raise UnwritableError(path, number, error.strerror or "") from error


def make_folder(folder: Path) -> None:
    """Make a folder and its missing parents."""
    with naming_failures(folder):
        folder.mkdir(parents=True, exist_ok=True)


def refuse_file(folder: Path) -> None:
    """Raise an error if a file is in the place of a folder or of its parents."""
    for place in (folder, *folder.parents):
        if place.is_dir():
            return
        if place.exists():
            raise UnwritableError(place, errno.ENOTDIR, "Not a directory")


def refuse_folder(file: Path) -> None:
    """Raise an error if a folder is in the place of a file."""
    if file.is_dir():
        raise UnwritableError(file, errno.EISDIR, "Is a directory")


def _full_disk_behind(error: BaseException | None) -> str | None:
    """The system's message about a full disk; None if that is not the cause."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _FULL:
            return error.strerror or "no space left"
        error = error.__cause__ or error.__context__
    return None
