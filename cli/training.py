"""`yieldrl train` and `yieldrl resume`: one loop with loggers around it."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tyro.conf import Positional

from yieldrl.cli import evaluating
from yieldrl.cli.errors import fail, usage_errors
from yieldrl.loggers import list_checkpoints
from yieldrl.loggers.files import WriteError

if TYPE_CHECKING:
    from yieldrl.cli.run_spec import RunSpec


def train_command(
    trainer_class: type[Any] | None,
    argv: Sequence[str] | None = None,
    *,
    prog: str | None = None,
) -> None:
    """Train as the command line says: what `python -m my_ppo` does.

    Args:
        trainer_class: The trainer, whose `config_class` says the options; by default
            the config file names it.
        argv: The words of the command line; those of the process if omitted.
        prog: The program's name in its help; by default `python -m PACKAGE`.

    Raises:
        SystemExit: With code 2 if something is wrong with the words, 130 after Ctrl-C.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if prog is None and trainer_class is not None:
        prog = f"python -m {trainer_class.__module__.rpartition('.')[0]}"
    with usage_errors():
        from yieldrl.cli import options
        from yieldrl.core.files import to_yaml

        command = options.parse(trainer_class, words, prog or "yieldrl train")
        spec, config = command.spec, command.config
        spec.make_loggers()  # or say what is wrong before anything is built
        if command.options.print_config:
            print(to_yaml(spec.to_dict(config)), end="")
            return
        trainer = spec.make_trainer(config)
        logged = _logged(trainer, spec)
    _run(trainer, logged)


def resume(
    run: Positional[str], total_steps: int | None = None, trust: bool = False
) -> None:
    """Continue a run from its last usable checkpoint, in its folder.

    Args:
        run: Folder of a run, or a checkpoint file.
        total_steps: Train until this many environment steps were taken, counted from
            the beginning of the run; by default as many as it was started with.
        trust: Import and run code that the run names and that is not of yieldrl.
    """
    _run(*_restored(run, total_steps, trust))


def _restored(run: str, total_steps: int | None, trust: bool) -> tuple[Any, Any]:
    """The trainer of the last usable checkpoint, without and with its loggers."""
    with usage_errors():
        from yieldrl.cli import restoring

        trainer, spec, checkpoint = restoring.last_usable(run, total_steps, trust)
        if trainer.training_done:
            raise ValueError(
                f"{run}: finished, {trainer.agent.sample_step:,} of"
                f" {trainer.config.total_steps:,} steps are taken; to train on, give"
                " --total-steps a larger number"
            )
        logged = _logged(trainer, spec)
    if _first():
        step = f"{trainer.agent.sample_step:,}"
        print(f"goes on from {checkpoint}, step {step}", flush=True)
    return trainer, logged


def _logged(trainer: Any, spec: RunSpec) -> Any:
    """The trainer with its loggers; the run's folder gets its description."""
    from yieldrl.experiments import run_files

    logged = trainer
    for logger in spec.make_loggers():
        logged = logger(logged)
    if _first():
        run_files.describe(trainer, spec.to_dict(trainer.config))
        print(f"run folder: {shown(trainer.run.folder)}", flush=True)
    return logged


def _run(trainer: Any, logged: Any, restarts: int = 0) -> None:
    """Train to the end, evaluate, and print where the files are.

    If a learner on Ray dies, go on from the newest checkpoint, as often as the config
    says.
    """
    try:
        _loop(trainer, logged)
    except RuntimeError as reason:
        from yieldrl.experiments.on_ray import is_death_of_learner

        if not is_death_of_learner(reason):
            raise
        if restarts == trainer.config.learner_restarts:
            fail(f"{reason}; go on with: {_command(trainer)}")
        print(f"yieldrl: {reason}", file=sys.stderr)
        newer, logged = _restored(str(trainer.run.folder), None, trust=True)  # its own
        _run(newer, logged, restarts + 1)


def _loop(trainer: Any, logged: Any) -> None:
    from yieldrl.experiments import run_status

    with trainer:
        try:
            with closing(run_status.noting(trainer, logged())) as logs:
                for _ in logs:
                    pass
            if not _first():
                return
            in_order, folder = trainer.config.eval_in_order, trainer.run.folder
            print(evaluating.report(trainer, in_order=in_order, folder=folder))
        except KeyboardInterrupt:
            saved = list_checkpoints(trainer.run.folder)
            if _first() and saved:
                step = f"{trainer.agent.sample_step:,}"
                print(f"\ninterrupted at step {step}; saved {shown(saved[0])}")
                print(f"go on with: {_command(trainer)}")
            raise SystemExit(130) from None
        except WriteError as reason:
            fail(str(reason))
    print(f"run folder: {shown(trainer.run.folder)}")


def _first() -> bool:
    """Whether this is the only process, or the first of several that train together."""
    from yieldrl.core import ranks  # imports PyTorch, loaded by now

    return ranks().first


def _command(trainer: Any) -> str:
    """The command that continues the run."""
    from yieldrl.cli import restoring

    run = str(shown(trainer.run.folder))
    words = "yieldrl resume " + (f'"{run}"' if os.name == "nt" else shlex.quote(run))
    return words + (" --trust" if restoring.needs_trust(trainer.run.folder) else "")


def shown(path: Path) -> Path:
    """A path relative to the working directory, where possible."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
