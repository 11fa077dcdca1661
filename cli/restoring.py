"""From a checkpoint to the trainer class that wrote it, and to a trainer."""

from __future__ import annotations

import dataclasses
import importlib
import sys
from pathlib import Path
from typing import Any

from yieldrl.abstractions import Trainer
from yieldrl.experiments import CheckpointError, load_checkpoint, run_files
from yieldrl.loggers import list_checkpoints


def last_usable(run: str, total_steps: int | None) -> tuple[Trainer, Path]:
    """The trainer of the newest checkpoint that can be read, and that checkpoint.

    A checkpoint that cannot be read is named on stderr, and the one written before it
    is tried. The trainer goes on in the folder where its checkpoint lies.

    Args:
        run: Folder of a run, or a checkpoint file.
        total_steps: Train up to this many steps; by default what the run's config says,
            which is the last that was asked for.

    Raises:
        CheckpointError: If none can be read.
        FileNotFoundError: If there is none.
    """
    newest = run_files.find_checkpoint(run)
    paths = [newest] if Path(run).is_file() else list_checkpoints(run)
    for path in paths:
        try:
            return _load(path, total_steps), path
        except CheckpointError as reason:
            print(f"yieldrl: not usable: {reason}", file=sys.stderr)
    raise CheckpointError(f"{run}: none of {len(paths)} checkpoints is usable")


def player(path: Path, episodes: int, device: str | None) -> Trainer:
    """A trainer whose agent knows what the checkpoint's knew: good for evaluation.

    Nothing else is restored, so a checkpoint of a GPU plays on a CPU.

    Raises:
        CheckpointError: If the file is damaged or does not fit its trainer.
    """
    state = load_checkpoint(path)
    cls = trainer_class(state, path)
    config = cls.config_class.from_dict(state["config"])
    changes = {} if device is None else {"device": device}
    trainer = cls(dataclasses.replace(config, eval_episodes=episodes, **changes))
    try:
        trainer.algorithm.load_state_dict(state["agent"]["algorithm"])
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as reason:
        trainer.close()
        raise CheckpointError(
            f"{path}: does not fit {cls.__module__}: {reason}"
        ) from None
    return trainer


def trainer_class(state: dict[str, Any], path: Path) -> type[Trainer]:
    """The class that saved a checkpoint, imported by the name of its module.

    The working directory comes first, so that copied folders are found.

    Raises:
        ImportError: If the module is not found from here, or has no trainer.
    """
    name = str(state["algorithm"])
    package = name.partition(".")[0]
    if package != "yieldrl" and sys.path[0] != str(Path.cwd()):
        sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(name), "Trainer", None)
    except ModuleNotFoundError as reason:
        if reason.name not in (name, package):
            raise  # its own imports fail: that is another story
        raise ImportError(
            f"{path}: saved by {name}, which is not found from here: run this in the"
            f" folder that holds {package}/"
        ) from None
    if not (isinstance(found, type) and issubclass(found, Trainer)):
        raise ImportError(
            f"{path}: saved by {name}, which has no class Trainer: go on in Python,"
            " with Trainer.load(path) of the class that saved it"
        )
    return found


def _load(path: Path, total_steps: int | None) -> Trainer:
    state = load_checkpoint(path)
    cls = trainer_class(state, path)
    config = cls.config_class.from_dict(state["config"])
    del state  # a replay buffer fits into memory once, perhaps not twice
    run_dir = path.parent.parent if path.parent.name == run_files.CHECKPOINTS else None
    if total_steps is None and run_dir is not None:
        total_steps = run_files.read_config(run_dir).get("total_steps")
    if total_steps is not None:
        config = dataclasses.replace(config, total_steps=total_steps)
    trainer = cls.load(path, config=config)
    if run_dir is not None:
        trainer.run_dir = run_dir  # the folder may have been moved
    return trainer
