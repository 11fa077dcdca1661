"""Restore runs: from a checkpoint to its trainer class, and to a trainer."""

import dataclasses
import sys
from pathlib import Path
from typing import Any

from yieldrl.abstractions import Trainer
from yieldrl.cli import catalog
from yieldrl.cli.run_spec import (
    RunSpec,
    find,
    refuse_untrusted_run,
)
from yieldrl.core.files import read_file
from yieldrl.core.named_code import UntrustedError, refuse_unless, refuse_untrusted
from yieldrl.experiments import CheckpointError, run_files
from yieldrl.experiments.checkpoint import load_trainer_state


def last_usable(
    run: str, total_steps: int | None, trust: bool = False
) -> tuple[Trainer, RunSpec, Path]:
    """The trainer and spec of the newest checkpoint that can be read, and its path.

    A checkpoint that cannot be read is named on stderr, and the one written before it
    is tried, that of the best evaluation last. The trainer goes on in the folder where
    its checkpoint lies, by default up to the steps that were last asked for.

    Raises:
        CheckpointError: If none can be read.
        FileNotFoundError: If there is none.
        UntrustedError: If it names code that does not come with yieldrl, without
            `trust`.
        ValueError: If the run's `config.yaml` was edited.
    """
    paths = run_files.all_checkpoints(run)
    for path in paths:
        try:
            return *_load(path, total_steps, trust), path
        except CheckpointError as reason:
            if len(paths) == 1:
                raise
            print(f"yieldrl: not usable: {reason}", file=sys.stderr)
    raise CheckpointError(f"{run}: none of {len(paths)} checkpoints is usable")


def _load(path: Path, total_steps: int | None, trust: bool) -> tuple[Trainer, RunSpec]:
    # What is left out, the agent's state, is freed: weights may not fit twice.
    cls, config = _read(path, trust)[1:]
    if path.parent.name == run_files.CHECKPOINTS:
        run_dir = path.parent.parent
        run_files.refuse_edited_config(run_dir, total_steps)
        if total_steps is None:
            total_steps = run_files.read_config(run_dir).get("total_steps")
    if total_steps is not None:
        config = dataclasses.replace(config, total_steps=total_steps)
    spec = _spec(cls, path, trust)
    return cls.load(path, config=config, **spec.parts()), spec


def needs_trust(run_dir: Path) -> bool:
    """Whether the config of a run names code that does not come with yieldrl."""
    path = run_dir / run_files.CONFIG
    try:
        refuse_untrusted_run(read_file(path) if path.is_file() else {}, path)
    except UntrustedError:
        return True
    return False


def player(
    path: Path,
    episodes: int,
    device: str | None,
    *,
    alone: bool = False,
    trust: bool = False,
) -> Trainer:
    """A trainer with the agent of a checkpoint and its counters, to evaluate it.

    Nothing else is restored, so a checkpoint of a GPU plays on a CPU, without rollout
    workers and demonstrations. With `alone` no processes are started.
    """
    agent, cls, config = _read(path, trust)
    changes: dict[str, Any] = {} if device is None else {"device": device}
    if alone:
        changes["vectorization"] = "sync"
    config = dataclasses.replace(config.to_play(), eval_episodes=episodes, **changes)
    trainer = cls(config, **_spec(cls, path, trust).parts())
    try:
        trainer.algorithm.load_state_dict(agent["algorithm"])
        trainer.agent.counters.restore(agent)
    except (KeyError, RuntimeError, TypeError, ValueError) as reason:
        trainer.close()
        problem = f"{path}: does not fit {cls.__module__}: {reason}"
        raise CheckpointError(problem) from None
    return trainer


def _read(path: Path, trust: bool) -> tuple[Any, type[Trainer], Any]:
    """State of the agent, class and config of the trainer that saved a checkpoint."""
    state = load_trainer_state(path)
    module, name = state["algorithm"], state["trainer"]
    if trust:
        catalog.importable_from_here()
    else:
        is_ours = module.startswith(f"{catalog.PACKAGE}.")
        refuse_unless(is_ours, f"its trainer's module {module!r}", path)
    where = f"{path}: the trainer that saved it"
    cls = find(f"{module}:{name.removeprefix(f'{module}.')}", where)
    if not (isinstance(cls, type) and issubclass(cls, Trainer)):
        raise ImportError(f"{path}: saved by {name}, which is no Trainer")
    config = cls.config_class.from_dict(state["config"])
    if not trust:
        refuse_untrusted(config.to_dict(), path)
    return state.get("agent"), cls, config


def _spec(cls: type[Trainer], path: Path, trust: bool) -> RunSpec:
    """The spec of a checkpoint's run; the default if it is unknown."""
    run_dir = path.parent.parent
    run = run_files.read_run(run_dir)
    if path.parent.name != run_files.CHECKPOINTS or not run:
        return RunSpec(cls)
    source = None if trust else run_dir / run_files.RUN
    return RunSpec.of({**run["config"], "algorithm": None}, cls, source)
