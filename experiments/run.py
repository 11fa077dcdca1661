"""A run on disk: its folder, which has one writer, and checkpoints to go on from."""

import gc
import json
import os
import re
import secrets
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Self

from filelock import FileLock, Timeout

from yieldrl.core import CheckpointError, Config
from yieldrl.core.named_code import refuse_untrusted
from yieldrl.experiments import run_files
from yieldrl.experiments.checkpoint import load_trainer_state, save_checkpoint
from yieldrl.loggers.files import (
    delete_partial_files,
    naming_failures,
    write_atomically,
)

OWNER = "owner.json"  # the run, and the process that trains or trained in its folder
LOCK = ".lock"  # held by that process alone, and by none after a kill


class RunInUseError(OSError):
    """Another trainer writes into a run's folder."""


class Run(ABC):
    """A trainer's folder and checkpoints. The training itself is in subclasses."""

    config_class: ClassVar[type[Any]]
    _described = False  # whether `claim` has described the run
    config: Any

    def __init__(self, config: Config) -> None:
        self.config = config
        self._run_dir: Path | None = None
        self._run_id: str | None = None
        self._lock: FileLock | None = None
        self._attached: dict[str, Any] = {}
        self._loaded: dict[str, Any] = {}  # states of parts that are not attached yet

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """Everything that training needs to go on, as tensors and plain values."""

    @abstractmethod
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""

    def close(self) -> None:
        """Release the run's folder for other writers. Safe to call twice."""
        if self._lock is not None:
            self._lock.release()

    @property
    def name(self) -> str:
        """The algorithm's name: that of the folder which defines the trainer."""
        return run_files.algorithm_name(type(self).__module__)

    @property
    def run_dir(self) -> Path:
        """The folder of this run, made when it is first asked for; an absolute path."""
        if self._run_dir is None:
            self._run_dir = self._make_folder()
            self._claim(self._run_dir)
        with naming_failures(self._run_dir):
            self._run_dir.mkdir(parents=True, exist_ok=True)
        return self._run_dir

    @run_dir.setter
    def run_dir(self, path: str | Path) -> None:
        self.close()
        self._run_dir, self._run_id = Path(path).absolute(), None

    def claim(self) -> Path:
        """Become the only one that writes into `run_dir`, until `close`.

        The run is described there, in `config.yaml` and `run.json`, unless it is
        already. Repeated calls do nothing. After a process was killed, another one can
        claim its folder, and half-written files are deleted.

        Raises:
            RunInUseError: If another trainer writes there, in any process.
            WriteError: If the folder or its `owner.json` cannot be written.
        """
        folder = self.run_dir
        if self._lock is None or not self._lock.is_locked:
            self._claim(folder)
        if not (self._described or (folder / run_files.CONFIG).is_file()):
            self._described = True  # to describe it claims the folder, too
            try:
                run_files.describe(self)
            except OSError:
                raise
        return folder

    def _claim(self, folder: Path) -> None:
        lock = FileLock(folder / LOCK, thread_local=False, timeout=0)
        with naming_failures(folder):
            try:
                lock.acquire()
            except Timeout:
                gc.collect()  # may free the lock of a deleted trainer
                try:
                    lock.acquire()
                except Timeout:
                    raise RunInUseError(_refusal(folder)) from None
        self._lock = lock
        self._run_id = owner(folder).get("run") or self._run_id or secrets.token_hex(8)
        facts = {
            "run": self._run_id,
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "since": time.strftime("%Y-%m-%d %H:%M:%S"),
        }
        write_atomically(folder / OWNER, json.dumps(facts, indent=2) + "\n")
        delete_partial_files(folder)

    def _make_folder(self) -> Path:
        """A new folder of this run alone: with a number if the name is taken."""
        config: Config = self.config
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

    def attach(self, name: str, part: Any, *, restore: bool = True) -> None:
        """Save with the trainer a part that is not its own, such as a logger.

        It has `state_dict` and `load_state_dict`. With `restore` it gets the state of
        the part of this name that was attached before it, or lay in the checkpoint.
        """
        before, loaded = self._attached.get(name), self._loaded.pop(name, None)
        if restore and before is not None and before is not part:
            part.load_state_dict(before.state_dict())
        elif restore and loaded is not None:
            part.load_state_dict(loaded)
        self._attached[name] = part

    def save(self, path: str | Path) -> Path:
        """Write a checkpoint from which `load` goes on: atomically, all or nothing.

        WriteError if there is no room for it; what was at `path` stays.
        """
        attached = {name: part.state_dict() for name, part in self._attached.items()}
        run_dir = self._run_dir
        if run_dir is not None and self._run_id is None:
            self._run_id = owner(run_dir).get("run")
        state = {
            "algorithm": type(self).__module__,
            "trainer": f"{type(self).__module__}.{type(self).__qualname__}",
            "config": self.config.to_dict(),
            "run_dir": None if run_dir is None else str(run_dir),
            "run_id": self._run_id,
            "attached": {**self._loaded, **attached},
            **self.state_dict(),
        }
        return save_checkpoint(state, path)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        saved_by: str | None = None,
        trust: bool = False,
        **parts: Any,
    ) -> Self:
        """The trainer that `save` wrote, ready to loop on.

        Environments whose state can be saved continue bitwise; others start new
        episodes. It goes on in the folder of its run: the one whose `checkpoints` hold
        the file, also if that was moved or copied, or the original one. If neither
        exists, or another run has taken its place, it gets a new folder.

        Args:
            path: The checkpoint.
            saved_by: Module and name of the class that saved it, if its parts fit.
            trust: Whether code that the checkpoint's config names may be imported and
                called, `env_id="my_module:MyEnv"` for example, if that is not passed.
            parts: What the saving trainer was given besides its config (`envs`,
                `model`, ...), or a `config` to use instead of the saved one.

        Raises:
            FileNotFoundError: If there is no such file.
            CheckpointError: If it is damaged or does not fit this trainer.
            UntrustedError: If its config names code of your own, without `trust`.
        """
        state, name = load_trainer_state(path), f"{cls.__module__}.{cls.__qualname__}"
        saver = state["trainer"]
        if saver != (saved_by or name):
            raise CheckpointError(
                f"{path}: saved by {saver}, not by {saved_by or name}. Load it with the"
                " class that saved it; or, if the parts of this one are meant to fit,"
                f" say so: {cls.__qualname__}.load(path, saved_by={saver!r})"
            )
        remedy = (
            f"{path}: saved by {saver}, it does not fit {name}; load it with the class"
            " and the parts that saved it"
        )
        config = parts.pop("config", None)
        if config is None:
            try:
                config = cls.config_class.from_dict(state["config"])
            except (KeyError, TypeError, ValueError) as reason:
                raise CheckpointError(f"{remedy} ({reason})") from reason
            if not trust:
                replaced = ("env_id", "wrappers") if "envs" in parts else ()
                used = {k: v for k, v in vars(config).items() if k not in replaced}
                refuse_untrusted(used, path)
        trainer = cls(config, **parts)
        try:
            trainer.load_state_dict(state)
        except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
            trainer.close()
            if isinstance(error, CheckpointError):  # its message has a remedy already
                raise CheckpointError(f"{path}: {error}") from error
            raise CheckpointError(f"{remedy} ({error})") from error
        trainer._run_dir = _folder_of(Path(path), state)
        trainer._run_id = None if trainer._run_dir is None else state["run_id"]
        trainer._loaded = dict(state["attached"])
        return trainer

    def __getstate__(self) -> dict[str, Any]:
        """What is copied: a copy that writes claims the folder for itself."""
        return {**vars(self), "_lock": None}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def owner(folder: Path) -> dict[str, Any]:
    """`run`, `pid`, `host` and `since` of `owner.json`; empty if there is none."""
    path = folder / OWNER
    return json.loads(path.read_text("utf-8")) if path.is_file() else {}


def in_use(folder: Path) -> bool:
    """Whether a process writes into a run's folder now."""
    if not (folder / LOCK).is_file():
        return False
    try:
        with FileLock(folder / LOCK, timeout=0):
            return False
    except Timeout:
        return True


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
