"""Checkpoints: written whole or not at all, read without running any code."""

import os
import re
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.serialization import get_unsafe_globals_in_checkpoint

from yieldrl.core import CheckpointError
from yieldrl.core.named_code import refuse_untrusted
from yieldrl.core.trees import flatten
from yieldrl.experiments.run_files import is_agent
from yieldrl.loggers.files import naming_failures


def save_checkpoint(state: dict[str, Any], path: str | Path) -> Path:
    """Write `state` to `path` atomically: readers see the old file or the new one.

    A process killed at any moment, even by `kill -9`, leaves the previous checkpoint as
    it was.

    Args:
        state: Nested dicts and lists of tensors, numbers and text: what `torch.load`
            reads with `weights_only=True`.
        path: The file to write; missing folders are made.

    Raises:
        TypeError: If the state holds something that could not be read back; what was
            at `path` stays.
        WriteError: If the file cannot be written; likewise.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.tmp")
    with naming_failures(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("wb") as file:
                torch.save(state, file)
                file.flush()
                os.fsync(file.fileno())
            if unsafe := get_unsafe_globals_in_checkpoint(temporary):
                raise TypeError(
                    f"{path}: the state holds {', '.join(sorted(set(unsafe)))}, which"
                    " could not be read back without running code. Let `state_dict`"
                    " return tensors, numbers, text, and lists and dicts of them"
                )
            return temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def load_checkpoint(path: str | Path) -> dict[str, Any]:
    """Read a checkpoint onto the CPU with `weights_only=True`.

    Raises:
        FileNotFoundError: If there is no such file.
        CheckpointError: If the file is cut off, damaged, something else than a
            checkpoint, or holds what could run code.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such checkpoint")
    try:
        return dict(torch.load(path, map_location="cpu", weights_only=True))
    except Exception as reason:
        problem = str(reason).partition("\n")[0]
        if match := re.search(r"GLOBAL (\S+)", str(reason)):
            problem = f"it holds {match[1]}, and reading that could run code"
        raise CheckpointError(
            f"{path}: not a readable checkpoint ({problem}); load an earlier checkpoint"
            " of the run, or train again"
        ) from reason


def load_trainer_state(path: str | Path) -> dict[str, Any]:
    """Read the checkpoint of a trainer, which has its class and config.

    Of an agent's file it is the part that plays.

    Raises:
        FileNotFoundError: If there is no such file.
        CheckpointError: If it is damaged, holds NaN in what was learned, or is no
            checkpoint of a trainer.
    """
    if is_agent(path):
        from yieldrl.experiments.agent_file import read_agent  # who trains needs none

        state = read_agent(path)
    else:
        state = load_checkpoint(path)
    for name, kind in (("algorithm", str), ("trainer", str), ("config", dict)):
        if not isinstance(state.get(name), kind):
            raise CheckpointError(
                f"{path}: not the checkpoint of a trainer, it has no {name!r}; give a"
                " file that a trainer's `save` wrote"
            )
    agent = state.get("agent")
    learned = agent.get("algorithm", {}) if isinstance(agent, dict) else {}
    # Statistics beside these may have NaN where nothing is known yet.
    parts = {k: x for k, x in learned.items() if k == "model" or "optimizer" in k}
    for name, tensor in flatten(parts):
        if isinstance(tensor, Tensor) and bool(tensor.isnan().any()):
            raise CheckpointError(
                f"{path}: {'.'.join(map(str, name))} holds NaN, and so would actions"
                " and losses; load an earlier checkpoint of the run"
            )
    return state


def save_trainer(trainer: Any, path: str | Path) -> Path:
    """Write the checkpoint of a trainer; see `Trainer.save`."""
    cls = type(trainer)
    state = {
        "algorithm": cls.__module__,
        "trainer": f"{cls.__module__}.{cls.__qualname__}",
        "config": trainer.config.to_dict(),
        **trainer.run.state_dict(),
        **trainer.state_dict(),
    }
    return save_checkpoint(state, path)


def load_trainer(
    cls: Any, path: str | Path, saved_by: str | None, trust: bool, parts: dict[str, Any]
) -> Any:
    """A trainer of a class, from its checkpoint; see `Trainer.load`."""
    refuse_to_train(path)
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
        trainer.run.load_state_dict(state, path)
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
        trainer.close()
        if isinstance(error, CheckpointError):  # its message has a remedy already
            raise CheckpointError(f"{path}: {error}") from error
        raise CheckpointError(f"{remedy} ({error})") from error
    return trainer


def refuse_to_train(path: str | Path) -> None:
    """CheckpointError if a file holds an agent to play, from which nothing goes on."""
    if is_agent(path):
        raise CheckpointError(
            f"{path}: an agent to play, and no checkpoint of training: it has neither"
            " optimizer nor buffer. Play it with `yieldrl play`, or train anew with"
            " `yieldrl train --config` and the config.yaml beside it"
        )
