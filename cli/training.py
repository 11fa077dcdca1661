"""`yieldrl train` and `yieldrl resume`: one loop with loggers around it."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from yieldrl.cli.errors import usage_errors
from yieldrl.loggers import list_checkpoints


def train_command(
    trainer_class: type[Any],
    argv: Sequence[str] | None = None,
    *,
    prog: str | None = None,
) -> None:
    """Train as the command line says: what `python -m my_ppo` does.

    Args:
        trainer_class: The trainer, whose `config_class` says the options.
        argv: The words of the command line; those of the process if omitted.
        prog: The program's name in its help; by default `python -m PACKAGE`.

    Raises:
        SystemExit: With code 2 if something is wrong with the words, 130 after Ctrl-C.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    prog = prog or f"python -m {trainer_class.__module__.rpartition('.')[0]}"
    with usage_errors():
        from yieldrl.cli import options as command_line

        options, config = command_line.parse(trainer_class, words, prog)
        trainer = trainer_class(config)
        extras = {"wandb": options.wandb, "video": options.video}
        logged = _with_loggers(trainer, **extras)
        _describe(trainer, **extras)
    _run(trainer, logged)


def resume(run: str, total_steps: int | None = None) -> None:
    """Go on with a run from its last usable checkpoint, with the same loggers.

    Raises:
        SystemExit: With code 2 if it cannot go on, 130 after Ctrl-C.
    """
    with usage_errors():
        from yieldrl.cli import restoring
        from yieldrl.experiments import run_files

        trainer, checkpoint = restoring.last_usable(run, total_steps)
        if trainer.training_done:
            raise ValueError(
                f"{run}: finished, {trainer.agent.sample_step:,} of"
                f" {trainer.config.total_steps:,} steps are taken; to train on, give"
                " --total-steps a larger number"
            )
        known = run_files.read_run(trainer.run_dir)
        extras = {name: bool(known.get(name)) for name in ("wandb", "video")}
        logged = _with_loggers(trainer, **extras)
        _describe(trainer, **extras)
    print(f"goes on from {checkpoint}, step {trainer.agent.sample_step:,}", flush=True)
    _run(trainer, logged)


def _with_loggers(trainer: Any, *, wandb: bool, video: bool) -> Any:
    from yieldrl import loggers

    if wandb:
        trainer = loggers.wandb()(trainer)
    if video:
        trainer = loggers.video()(trainer)
    return loggers.default(trainer)


def _describe(trainer: Any, **extras: bool) -> None:
    from yieldrl.experiments import run_files

    run_files.describe(trainer, **extras)
    print(f"run folder: {trainer.run_dir}", flush=True)


def _run(trainer: Any, logged: Any) -> None:
    """Loop to the end, evaluate and say where everything lies."""
    from yieldrl.cli import evaluating

    with trainer:
        try:
            with closing(logged()) as logs:
                for _ in logs:
                    pass
            print(evaluating.report(trainer))
        except KeyboardInterrupt:
            _say_how_to_go_on(trainer)
            raise SystemExit(130) from None
    print(f"run folder: {trainer.run_dir}")


def _say_how_to_go_on(trainer: Any) -> None:

    saved = list_checkpoints(trainer.run_dir)
    if not saved:
        print("\ninterrupted before there was anything to save")
        return
    print(f"\ninterrupted at step {trainer.agent.sample_step:,}; saved {saved[0]}")
    print(f"go on with: yieldrl resume {_quoted(trainer.run_dir)}")


def _quoted(path: Path) -> str:
    """A path as a shell wants it."""
    return f'"{path}"' if os.name == "nt" else shlex.quote(str(path))
