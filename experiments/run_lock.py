"""A lock on a run's folder, which the system frees when the process ends."""

import gc
import json
import os
import socket
import sys
import time
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FILE = "owner.json"  # the run, and the process that trains or trained in it


class RunInUseError(OSError):
    """Another trainer writes into a run's folder."""


class Lock:
    """Exclusive hold of a folder, by one object, until `release` or its process ends.

    The lock is the operating system's (`flock`, on Windows `msvcrt.locking`), on the
    file `owner.json`: a killed process holds no lock, whatever the file says.
    Two locks of one process exclude each other like those of two processes.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._closing: weakref.finalize[Any, Any] | None = None
        _locks.add(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Lock, (self.folder,)  # a copied trainer needs its own lock

    @property
    def held(self) -> bool:
        """Whether this object holds the folder."""
        return self._closing is not None and self._closing.alive

    def acquire(self) -> bool:
        """Lock the folder, which must exist; False if another object holds it."""
        if self.held:
            return True
        handle = os.open(self.folder / FILE, os.O_RDWR | os.O_CREAT, 0o666)
        if not _lock(handle):
            os.close(handle)
            return False
        self._closing = weakref.finalize(self, os.close, handle)
        return True

    def release(self) -> None:
        """Release the folder. Safe to call twice."""
        if self._closing is not None:
            self._closing()


def claim(folder: Path, run_id: str) -> Lock:
    """Become the only writer of a run's folder.

    RunInUseError if there is another one; the message names it.
    """
    lock = Lock(folder)
    if not lock.acquire():
        gc.collect()  # may free the lock of a deleted trainer
        if not lock.acquire():
            raise RunInUseError(_refusal(folder))
    _sign(folder, run_id)
    return lock


def claim_empty(folder: Path, run_id: str) -> Lock | None:
    """Make a folder, or take one that is empty, for one run alone.

    None if it is not empty, or another process has just taken it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = Lock(folder)
    if _is_empty(folder) and lock.acquire():
        if _is_empty(folder):
            _sign(folder, run_id)
            return lock
        lock.release()
    return None


def in_use(folder: Path) -> bool:
    """Whether a process writes into a run's folder now."""
    if not (folder / FILE).is_file():
        return False
    lock = Lock(folder)
    free = lock.acquire()
    lock.release()
    return not free


def read(folder: Path) -> dict[str, Any]:
    """`run`, `pid`, `host` and `since` of `owner.json`; empty if there is none."""
    try:
        facts = json.loads((folder / FILE).read_text("utf-8-sig"))
    except (OSError, ValueError):  # incomplete after a kill: ignore it
        return {}
    return facts if isinstance(facts, dict) else {}


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


def _sign(folder: Path, run_id: str) -> None:
    facts = {
        "run": run_id,
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": time.strftime("%Y-%m-%d %H:%M:%S"),
    }
    # In place: a file that is renamed over this one would not be locked.
    (folder / FILE).write_text(json.dumps(facts, indent=2) + "\n", "utf-8")


def _is_empty(folder: Path) -> bool:
    # Ignore half-written files of a killed process.
    names = [path.name for path in folder.iterdir()]
    return all(n == FILE or (n[0] == "." and n.endswith(".tmp")) for n in names)


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


_locks: weakref.WeakSet[Lock] = weakref.WeakSet()

if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> bool:
        # A byte far behind the text, because others cannot read what is locked.
        os.lseek(handle, 2**30, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True  # no locks on this file system: train anyway
        return True

    def _forget_in_child() -> None:
        # The worker process of an environment must not hold on to the folder when
        # its parent is killed. Closing a copy of the handle leaves the lock alone.
        for lock in list(_locks):
            lock.release()

    os.register_at_fork(after_in_child=_forget_in_child)
