"""A run on disk: its folder, and checkpoints from which it goes on."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from yieldrl.experiments.checkpoint import (
    CheckpointError,
    load_checkpoint,
    save_checkpoint,
)
from yieldrl.foundations.config import Config


class Run(ABC):
    """What a trainer is on disk. The training itself is the subclass's business.

    Args:
        config: Says where runs lie and what they are called.
    """

    config_class: ClassVar[type[Any]]
    config: Any

    def __init__(self, config: Config) -> None:
        self.config = config
        self._run_dir: Path | None = None

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """Everything that training needs to go on, as tensors and plain values."""

    @abstractmethod
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""

    @abstractmethod
    def close(self) -> None:
        """Free what the run holds. Safe to call twice."""

    @property
    def name(self) -> str:
        """The algorithm's name: that of the folder which defines the trainer."""
        return type(self).__module__.removesuffix(".trainer").rpartition(".")[2]

    @property
    def run_dir(self) -> Path:
        """The folder of this run, made when it is first asked for."""
        if self._run_dir is None:
            config: Config = self.config
            env_name = config.env_id.replace("/", "-").replace(":", "-")
            stamp = time.strftime("%Y%m%d-%H%M%S")
            default = f"{self.name}-{env_name}-seed{config.seed}-{stamp}"
            wanted = Path(config.run_root) / (config.run_name or default)
            self._run_dir, number = wanted, 2
            while self._run_dir.exists() and any(self._run_dir.iterdir()):
                self._run_dir = wanted.with_name(f"{wanted.name}-{number}")
                number += 1
        self._run_dir.mkdir(parents=True, exist_ok=True)
        return self._run_dir

    @run_dir.setter
    def run_dir(self, path: str | Path) -> None:
        self._run_dir = Path(path)

    def save(self, path: str | Path) -> Path:
        """Write a checkpoint from which `load` goes on: atomically, all or nothing."""
        state = {
            "algorithm": type(self).__module__,
            "config": self.config.to_dict(),
            "run_dir": None if self._run_dir is None else str(self._run_dir),
            **self.state_dict(),
        }
        return save_checkpoint(state, path)

    @classmethod
    def load(cls, path: str | Path, **parts: Any) -> Self:
        """The trainer that `save` wrote, ready to loop on.

        Environments whose state can be saved continue bitwise; others start new
        episodes.

        Args:
            path: The checkpoint.
            parts: What the saving trainer was given besides its config (`envs`,
                `model`, ...), or a `config` to use instead of the saved one.

        Raises:
            FileNotFoundError: If there is no such file.
            CheckpointError: If it is damaged or does not fit this trainer.
        """
        state = load_checkpoint(path)
        remedy = (
            f"{path}: saved by {state.get('algorithm')}, it does not fit"
            f" {cls.__module__}; load it with the class and the parts that saved it"
        )
        config = parts.pop("config", None)
        if config is None:
            try:
                config = cls.config_class.from_dict(state["config"])
            except (KeyError, ValueError) as reason:
                raise CheckpointError(f"{remedy} ({reason})") from reason
        trainer = cls(config, **parts)
        try:
            trainer.load_state_dict(state)
        except (
            AttributeError,
            KeyError,
            RuntimeError,
            TypeError,
            ValueError,
        ) as reason:
            trainer.close()
            raise CheckpointError(f"{remedy} ({reason})") from reason
        if state.get("run_dir") is not None:
            trainer.run_dir = state["run_dir"]
        return trainer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
