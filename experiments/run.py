"""A run on disk: its folder, and checkpoints to continue from."""

import re
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from filelock import FileLock

from yieldrl.experiments import run_files, run_lock
from yieldrl.experiments.checkpoint import (
    CheckpointError,
    load_trainer_state,
    save_checkpoint,
)
from yieldrl.foundations.config import Config
from yieldrl.foundations.named_code import refuse_untrusted
from yieldrl.loggers.files import delete_partial_files, naming_failures


class Run(ABC):
    """A trainer's folder and checkpoints. The training itself is in subclasses."""

    config_class: ClassVar[type[Any]]
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
            self._run_id = secrets.token_hex(8)
            self._run_dir, self._lock = self._make_folder(self._run_id)
        with naming_failures(self._run_dir):
            self._run_dir.mkdir(parents=True, exist_ok=True)
        return self._run_dir

    @run_dir.setter
    def run_dir(self, path: str | Path) -> None:
        if self._lock is not None:
            self._lock.release()
        self._run_dir, self._run_id = Path(path).absolute(), None

    def claim(self) -> Path:
        """Become the only one that writes into `run_dir`, until `close`.

        Repeated calls do nothing. After a process was killed, another one can claim its
        folder, and half-written files are deleted.

        Raises:
            RunInUseError: If another trainer writes there, in any process.
            UnwritableError: If the folder or its `owner.json` cannot be written.
        """
        folder = self.run_dir
        if self._lock is None or not self._lock.is_locked:
            self._run_id = run_lock.read(folder).get("run") or self._run_id
            self._run_id = self._run_id or secrets.token_hex(8)
            with naming_failures(folder / run_lock.FILE):
                self._lock = run_lock.claim(folder, self._run_id)
            delete_partial_files(folder)
        return folder

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

        DiskFullError if there is no room for it; what was at `path` stays.
        """
        attached = {name: part.state_dict() for name, part in self._attached.items()}
        run_dir = self._run_dir
        if run_dir is not None and self._run_id is None:
            self._run_id = run_lock.read(run_dir).get("run")
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
        state, own = load_trainer_state(path), f"{cls.__module__}.{cls.__qualname__}"
        saver = state["trainer"]
        if saver != (saved_by or own):
            raise CheckpointError(
                f"{path}: saved by {saver}, not by {saved_by or own}. Load it with the"
                " class that saved it; or, if the parts of this one are meant to fit,"
                f" say so: {cls.__qualname__}.load(path, saved_by={saver!r})"
            )
        remedy = (
            f"{path}: saved by {saver}, it does not fit {own}; load it with the class"
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
        trainer._run_dir = run_lock.folder_of(Path(path), state)
        trainer._run_id = None if trainer._run_dir is None else state["run_id"]
        trainer._loaded = dict(state.get("attached") or {})
        return trainer

    def _make_folder(self, run_id: str) -> tuple[Path, FileLock]:
        """A new folder of this run alone: with a number if the name is taken."""
        config: Config = self.config
        env_name = re.sub(r"[/:\\\0]", "-", config.env_id)[:60]
        stamp = time.strftime("%Y%m%d-%H%M%S")
        default = f"{self.name}-{env_name}-seed{config.seed}-{stamp}"
        wanted = Path(config.run_root, config.run_name or default).absolute()
        folder, number = wanted, 1
        while True:
            with naming_failures(folder):
                lock = run_lock.claim_empty(folder, run_id)
            if lock is not None:
                delete_partial_files(folder)
                return folder, lock
            number += 1
            folder = wanted.with_name(f"{wanted.name}-{number}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
