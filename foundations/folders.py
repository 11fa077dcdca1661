"""Names of folders that every file system can hold, and that stay where they belong."""

from __future__ import annotations

import os
from pathlib import PurePath, PureWindowsPath

LONGEST = 240
"""Most bytes of a run's name: a file system takes 255, and a number may come behind."""

_DEVICES = {"CON", "PRN", "AUX", "NUL"} | {
    f"{port}{number}" for port in ("COM", "LPT") for number in range(1, 10)
}


def wrong_path(path: str) -> str | None:
    """What is wrong with a path that no file system can hold, and what to do."""
    try:
        parts = [os.fsencode(part) for part in PurePath(path).parts]
    except UnicodeEncodeError:
        return "give a folder name of valid Unicode"
    if any(len(part) > 255 or b"\0" in part for part in parts):
        return "a folder name has at most 255 bytes, none of them zero"
    return None


def wrong_name(name: str) -> str | None:
    """What is wrong with the name of a folder that is to lie below another.

    It may have parts, as `group/first`. It is looked at as Windows would too, because a
    config file goes from one machine to another.
    """
    path = PureWindowsPath(name)  # to which both / and \ part folders
    if not PurePath(name).name.strip():
        return "give a folder name, or None for a default"
    if path.anchor or ".." in path.parts:
        return (
            "a run lies below run_root: leave out '..', a drive, and a slash at the"
            " beginning, and say in run_root where runs lie"
        )
    if len(os.fsencode(PurePath(name).name)) > LONGEST:
        return f"the name of a run has at most {LONGEST} bytes"
    for part in path.parts:
        if part.partition(".")[0].strip().upper() in _DEVICES:
            return f"Windows keeps {part!r} for a device: choose another name"
        if part[-1] in ". ":
            return f"Windows leaves out what {part!r} ends in: choose another name"
    return None
