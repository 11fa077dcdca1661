"""Who writes into a run's folder: one trainer at a time, of any process."""

import gc
import json
import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

FILE = "owner.json"  # the run, and the process that trains or trained in it
LOCK = ".lock"
"""Of the operating system's kind: a killed process holds none, whatever the file
says."""


class RunInUseError(OSError):
    """Another trainer writes into a run's folder."""


def claim(folder: Path, run_id: str) -> FileLock:
    """Become the only writer of a run's folder, until `release` or the process ends.

    RunInUseError if there is another one; the message names it.
    """
    lock = FileLock(folder / LOCK, thread_local=False, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        gc.collect()  # may free the lock of a deleted trainer
        try:
            lock.acquire()
        except Timeout:
            raise RunInUseError(_refusal(folder)) from None
    _sign(folder, run_id)
    return lock


def claim_empty(folder: Path, run_id: str) -> FileLock | None:
    """Make a folder, or take one that is empty, for one run alone.

    None if it is not empty, or another process has just taken it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK, thread_local=False, timeout=0)
    try:
        if _is_empty(folder) and lock.acquire() and _is_empty(folder):
            _sign(folder, run_id)
            return lock
    except Timeout:
        return None
    lock.release()
    return None


def _is_empty(folder: Path) -> bool:
    return {path.name for path in folder.iterdir()} <= {LOCK}


def _sign(folder: Path, run_id: str) -> None:
    facts = {
        "run": run_id,
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": time.strftime("%Y-%m-%d %H:%M:%S"),
    }
    (folder / FILE).write_text(json.dumps(facts, indent=2) + "\n", "utf-8")


def in_use(folder: Path) -> bool:
    """Whether a process writes into a run's folder now."""
    if not (folder / LOCK).is_file():
        return False
    try:
        with FileLock(folder / LOCK, timeout=0):
            return False
    except Timeout:
        return True


def read(folder: Path) -> dict[str, Any]:
    """`run`, `pid`, `host` and `since` of `owner.json`; empty if there is none."""
    try:
        return dict(json.loads((folder / FILE).read_text("utf-8-sig")))
    except (OSError, ValueError):  # incomplete after a kill: ignore it
        return {}


def folder_of(path: Path, state: Mapping[str, Any]) -> Path | None:
    """The folder of the run that saved a checkpoint; None if another run has it now."""
    run_id, known = state.get("run_id"), state.get("run_dir")
    if run_id is None:
        return None
    places = [Path(known)] if known else []
    folder = path.absolute().parent.parent
    if path.absolute().parent.name == "checkpoints":
        places.insert(0, folder)
        # A kill during writing leaves an owner file without a name, and a copy of the
        # folder may lack it.
        is_run = any((folder / name).exists() for name in (FILE, "run.json"))
        if is_run and "run" not in read(folder):
            return folder
    return next((x for x in places if read(x).get("run") == run_id), None)


def _refusal(folder: Path) -> str:
    facts = read(folder)
    if (facts.get("pid"), facts.get("host")) == (os.getpid(), socket.gethostname()):
        return (
            f"{folder}: another trainer of this process writes here (since"
            f" {facts.get('since')}). Call its close(), or use that one"
        )
    return (
        f"{folder}: process {facts.get('pid', 'unknown')} on"
        f" {facts.get('host', 'an unknown host')} writes here, since"
        f" {facts.get('since', 'an unknown time')}. Wait until it ends or stop it; a"
        " new run gets a folder of its own"
    )
