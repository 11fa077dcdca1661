"""Restore runs: from a checkpoint to its trainer class, and to a trainer."""

import dataclasses
import sys
from pathlib import Path
from typing import Any

from yieldrl.abstractions import Trainer
from yieldrl.cli import catalog
from yieldrl.cli.errors import nearest
from yieldrl.cli.run_spec import (
    RunSpec,
    find,
    refuse_untrusted_run,
)
from yieldrl.core.files import read_file
from yieldrl.core.named_code import UntrustedError, refuse_unless, refuse_untrusted
from yieldrl.experiments import CheckpointError, run_files
from yieldrl.experiments.checkpoint import load_trainer_state, refuse_to_train
from yieldrl.experiments.run_files import is_agent


def locate(agent: str, which: str = "last") -> Path:
    """The file of a trained agent: a checkpoint, or one of safetensors.

    It lies in the folder of a run or a card, is named itself, or comes along, as of
    `yieldrl list`; `which` as of `run_files.find_checkpoint`, and the errors.
    """
    along, name = catalog.agents(), agent.partition("/")[0]
    if Path(agent).exists() or name not in catalog.folders():
        return run_files.find_checkpoint(agent, which)
    if agent not in along:
        raise FileNotFoundError(f"{agent} does not come along: {nearest(agent, along)}")
    return along[agent]


def last_usable(
    run: str, total_steps: int | None, trust: bool = False
) -> tuple[Trainer, RunSpec, Path]:
    """The trainer and spec of the newest checkpoint that can be read, and its path.

    A checkpoint that cannot be read is named on stderr, and the one written before it
    is tried, that of the best evaluation last. The trainer goes on in the folder where
    its checkpoint lies, by default up to the steps that were last asked for.

    Raises:
        CheckpointError: If none can be read, or there is only an agent to play.
        FileNotFoundError: If there is none.
        UntrustedError: If it names code that does not come with yieldrl, without
            `trust`.
        ValueError: If the run's `config.yaml` was edited.
    """
    paths = run_files.all_checkpoints(run)
    refuse_to_train(paths[0])
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
    _, cls, config, spec = _read(path, trust)
    if path.parent.name == run_files.CHECKPOINTS:
        run_dir = path.parent.parent
        run_files.refuse_edited_config(run_dir, total_steps)
        if total_steps is None:
            total_steps = run_files.read_config(run_dir).get("total_steps")
    if total_steps is not None:
        config = dataclasses.replace(config, total_steps=total_steps)
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
    """A trainer with the agent of a checkpoint or of an agent's file, and its counters.

    Nothing else is restored, so a checkpoint of a GPU plays on a CPU, without rollout
    workers and demonstrations. With `alone` no processes are started.
    """
    state, cls, config, spec = _read(path, trust)
    agent: Any = state.get("agent")
    changes: dict[str, Any] = {} if device is None else {"device": device}
    if alone:
        changes["vectorization"] = "sync"
    playing = dataclasses.replace(config.to_play(), eval_episodes=episodes, **changes)
    trainer = cls(playing, **spec.parts())
    known = _run_of(path) | state | {"config": spec.to_dict(config)}
    names = "config", "versions", "command", "evaluation"
    trainer.run.description |= {x: known[x] for x in names if x in known}
    try:
        if is_agent(path):
            agent["algorithm"] = trainer.algorithm.state_dict() | agent["algorithm"]
        trainer.algorithm.load_state_dict(agent["algorithm"])
        trainer.agent.counters.restore(agent)
    except (KeyError, RuntimeError, TypeError, ValueError) as reason:
        trainer.close()
        problem = f"{path}: does not fit {cls.__module__}: {reason}"
        raise CheckpointError(problem) from None
    return trainer


def _read(path: Path, trust: bool) -> tuple[Any, type[Trainer], Any, RunSpec]:
    """State, class, config and spec of the trainer that saved a checkpoint."""
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
    blocks = state["config"] if is_agent(path) else _run_of(path).get("config", {})
    blocks = {**blocks, "algorithm": None}
    return state, cls, config, RunSpec.of(blocks, cls, None if trust else path)


def _run_of(path: Path) -> dict[str, Any]:
    """The `run.json` of a checkpoint's run; empty if it is unknown."""
    inside = path.parent.name == run_files.CHECKPOINTS
    return run_files.read_run(path.parent.parent) if inside else {}
