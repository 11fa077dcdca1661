"""Errors that say in one sentence why a file could not be written."""

from __future__ import annotations

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
    """A log file holds something else than the rows of its logger."""


class DiskFullError(OSError):
    """There was no room to write a file; what was written before is whole."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(errno.ENOSPC, reason, str(path))
        self.path, self.reason = path, reason

    def __str__(self) -> str:
        return (
            f"{self.path}: no room to write this file ({self.reason}). What was written"
            " before is whole. Make room, then go on: loop over the trainer again, or"
            " `yieldrl resume` the run"
        )


class UnwritableError(OSError):
    """A file or folder cannot be written where it belongs."""

    def __init__(self, path: Path, number: int, reason: str) -> None:
        super().__init__(number, reason, str(path))
        self.path, self.number, self.reason = path, number, reason

    def __reduce__(self) -> tuple[object, ...]:
        return UnwritableError, (self.path, self.number, self.reason)

    def __str__(self) -> str:
        remedy = _REMEDIES[self.number]
        return (
            f"{self.path}: cannot be written ({self.reason}). {remedy}, or choose"
            " another path"
        )


@contextmanager
def naming_failures(path: Path) -> Iterator[None]:
    """Around writing: say in one sentence why it failed, and for which file.

    Raises:
        DiskFullError: If the disk, a quota or the greatest size of a file was the
            reason of an error, or the reason of its reason.
        UnwritableError: If something else is there, or it is not allowed.
    """
    try:
        yield
    except (DiskFullError, UnwritableError):
        raise
    except Exception as error:
        if reason := full_disk_behind(error):
            raise DiskFullError(path, reason) from error
        if not isinstance(error, OSError) or error.errno not in _REMEDIES:
            raise
        number = errno.EISDIR if path.is_dir() else error.errno
        raise UnwritableError(path, number, error.strerror or "") from error


def refuse_file(folder: Path) -> None:
    """Refuse a folder that cannot be made because a file is there, or above it.

    Raises:
        UnwritableError: If that is so.
    """
    for place in (folder, *folder.parents):
        if place.is_dir():
            return
        if place.exists():
            raise UnwritableError(place, errno.ENOTDIR, "Not a directory")


def refuse_folder(file: Path) -> None:
    """Refuse a file that cannot be written because a folder is there.

    Raises:
        UnwritableError: If that is so.
    """
    if file.is_dir():
        raise UnwritableError(file, errno.EISDIR, "Is a directory")


def full_disk_behind(error: BaseException | None) -> str | None:
    """The system's message about a full disk; None if that was not the reason."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _FULL:
            return error.strerror or "no space left"
        error = error.__cause__ or error.__context__
    return None
