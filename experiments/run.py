"""The folder of a run, which has one writer."""

import gc
import json
import os
import re
import secrets
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from yieldrl.core import Config
from yieldrl.experiments import run_files
from yieldrl.loggers.files import naming_failures, write_atomically

OWNER = "owner.json"  # the run, and the process that trains or trained in its folder
LOCK = ".lock"  # held by that process alone, and by none after a kill


class RunInUseError(OSError):
    """Another trainer writes into a run's folder."""


class Run:
    """The folder of a trainer's run, which has one writer; and what is saved beside it.

    Args:
        name: The algorithm's.
        config: Says where the folder is made, and how it is called.
        description: What `claim` writes into it, of `run_files.description`; None for
            nothing.
    """

    def __init__(
        self, name: str, config: Config, description: dict[str, Any] | None = None
    ) -> None:
        self.name, self.config = name, config
        self.description: Any = description
        self._folder: Path | None = None
        self._id: str | None = None
        self._lock: FileLock | None = None
        self._attached: dict[str, Any] = {}
        self._loaded: dict[str, Any] = {}  # states of parts that are not attached yet

    @property
    def folder(self) -> Path:
        """The folder, made when it is first asked for; an absolute path."""
        if self._folder is None:
            self._folder = self._make_folder()
            self._claim(self._folder)
        with naming_failures(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder

    @folder.setter
    def folder(self, path: str | Path) -> None:
        self.close()
        self._folder, self._id = Path(path).absolute(), None

    def claim(self) -> Path:
        """Become the only one that writes into the folder, until `close`.

        The run is described there, in `config.yaml` and `run.json`, unless it is
        already. Repeated calls do nothing. After a process was killed, another one can
        claim its folder, and half-written files are deleted.

        Raises:
            RunInUseError: If another trainer writes there, in any process.
            WriteError: If the folder or its `owner.json` cannot be written.
        """
        folder = self.folder
        if self._lock is None or not self._lock.is_locked:
            self._claim(folder)
        if self.description and not (folder / run_files.CONFIG).is_file():
            run_files.write_description(folder, self.description)
        return folder

    def close(self) -> None:
        """Release the folder for other writers. Safe to call twice."""
        if self._lock is not None:
            self._lock.release()

    def _claim(self, folder: Path) -> None:
        lock = FileLock(folder / LOCK, thread_local=False, timeout=0)
        with naming_failures(folder):
            if not (free := _acquired(lock)):
                gc.collect()  # may free the lock of a deleted trainer
                free = _acquired(lock)
        if not free:
            raise RunInUseError(_refusal(folder))
        self._lock = lock
        self._id = owner(folder).get("run") or self._id or secrets.token_hex(8)
        facts = {
            "run": self._id,
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "since": time.strftime("%Y-%m-%d %H:%M:%S"),
        }
        write_atomically(folder / OWNER, json.dumps(facts, indent=2) + "\n")
        for place in (folder, folder / "checkpoints", folder / "videos"):
            for left in [*place.glob(".*.tmp"), *place.glob(".*.tmp.mp4")]:
                left.unlink(missing_ok=True)  # by a kill

    def _make_folder(self) -> Path:
        """A new folder of this run alone: with a number if the name is taken."""
        config = self.config
        env_name = re.sub(r"[/:\\\0]", "-", config.env_id)[:60]
        stamp = time.strftime("%Y%m%d-%H%M%S")
        default = f"{self.name}-{env_name}-seed{config.seed}-{stamp}"
        wanted = Path(config.run_root, config.run_name or default).absolute()
        folder, number = wanted, 1
        while True:
            with naming_failures(folder):
                folder.parent.mkdir(parents=True, exist_ok=True)
                with suppress(FileExistsError):
                    folder.mkdir()
                    return folder
            number += 1
            folder = wanted.with_name(f"{wanted.name}-{number}")

    def attach(self, name: str, part: Any) -> None:
        """Save with the trainer a part that is not its own, such as a logger.

        It has `state_dict` and `load_state_dict`, and gets the state of the part of
        this name that was attached before it, or lay in the checkpoint.
        """
        before, loaded = self._attached.get(name), self._loaded.pop(name, None)
        if before is not None and before is not part:
            part.load_state_dict(before.state_dict())
        elif loaded is not None:
            part.load_state_dict(loaded)
        self._attached[name] = part

    def state_dict(self) -> dict[str, Any]:
        """Where the run is, and the states of what is attached."""
        folder = self._folder
        if folder is not None and self._id is None:
            self._id = owner(folder).get("run")
        attached = {name: part.state_dict() for name, part in self._attached.items()}
        return {
            "run_dir": None if folder is None else str(folder),
            "run_id": self._id,
            "attached": {**self._loaded, **attached},
        }

    def load_state_dict(self, state: Mapping[str, Any], path: str | Path) -> None:
        """Go on in the folder of the run that saved a state to `path`, if it is there.

        It is the one whose `checkpoints` hold the file, or the original one; a new one
        if neither exists, or if another run has taken its place.
        """
        self._folder = _folder_of(Path(path), state)
        self._id = None if self._folder is None else state["run_id"]
        self._loaded = dict(state["attached"])

    def __getstate__(self) -> dict[str, Any]:
        """Copy all but the lock: a copy that writes claims the folder for itself."""
        return {**vars(self), "_lock": None}


def _acquired(lock: FileLock) -> bool:
    """Whether the lock is this one's: False if another one has it."""
    try:
        lock.acquire()
    except Timeout:
        return False
    return True


def owner(folder: Path) -> dict[str, Any]:
    """`run`, `pid`, `host` and `since` of `owner.json`; empty if there is none."""
    path = folder / OWNER
    return json.loads(path.read_text("utf-8")) if path.is_file() else {}


def in_use(folder: Path) -> bool:
    """Whether a process writes into a run's folder now."""
    if not (folder / LOCK).is_file():
        return False
    lock = FileLock(folder / LOCK, timeout=0)
    free = _acquired(lock)
    lock.release()
    return not free


def _folder_of(path: Path, state: Mapping[str, Any]) -> Path | None:
    """The folder of the run that saved a checkpoint; None if another run has it now."""
    run_id, original = state.get("run_id"), state.get("run_dir")
    if run_id is None:
        return None
    places = [Path(original)] if original else []
    if path.absolute().parent.name == "checkpoints":
        places.insert(0, path.absolute().parent.parent)
    return next((x for x in places if owner(x).get("run") == run_id), None)


def _refusal(folder: Path) -> str:
    facts = owner(folder)
    who = f"process {facts.get('pid', 'unknown')} on {facts.get('host', 'unknown')}"
    remedy = "Wait until it ends or stop it; a new run gets a folder of its own"
    if (facts.get("pid"), facts.get("host")) == (os.getpid(), socket.gethostname()):
        who, remedy = "another trainer of this process", "Call its close(), or use it"
    return f"{folder}: {who} writes here, since {facts.get('since')}. {remedy}"
