"""`yieldrl COMMAND`: functions are the commands, their docstrings the help.

Only what a command needs is imported, and only when it runs: `yieldrl --help` answers
before PyTorch would have been read from the disk.
"""

import functools
import inspect
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional, PositionalMetavarFromFieldName, arg
from tyro.extras import SubcommandApp

from yieldrl.cli import evaluating, training, tuning
from yieldrl.cli.errors import fail, nearest, parsing_errors, usage_errors

_app = SubcommandApp()
_names: list[str] = []


def _command(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a command; tyro would keep line breaks inside of an argument's help."""
    inner = inspect.unwrap(function)
    inner.__doc__ = re.sub(r"\n {8}", " ", inspect.getdoc(inner) or "")

    @functools.wraps(function)
    def parsed(*args: Any, **kwargs: Any) -> Any:
        return functools.partial(function, *args, **kwargs)

    _names.append(function.__name__.removesuffix("_algorithms"))
    _app.command(name=_names[-1])(parsed)
    return function


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command.

    Args:
        argv: The words after `yieldrl`; those of the process if omitted.

    Raises:
        SystemExit: With code 2 if something is wrong with the words, 130 after Ctrl-C.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        match words:
            case ["train" | "tune" as name, algorithm, *rest] if algorithm[:1] != "-":
                # The options are those of this algorithm, so it alone is imported.
                _with_algorithm(name, algorithm, rest)
            case ["train" | "tune" as name, *rest] if "--config" in " ".join(rest):
                _with_algorithm(name, None, rest)
            case [name, *_] if name not in _names and not name.startswith("-"):
                fail(f"there is no command {name!r}: {nearest(name, _names)}")
            case _:
                with parsing_errors():
                    command = _app.cli(
                        prog="yieldrl",
                        args=words,
                        description="Reinforcement learning that you read, loop over in"
                        " a notebook, and copy.",
                        config=(PositionalMetavarFromFieldName,),
                    )
                command()
    except KeyboardInterrupt:
        raise SystemExit(130) from None


@_command
@usage_errors()
def list_algorithms(tree: bool = False) -> None:
    """List the algorithms and their tuned configs.

    Args:
        tree: Show which algorithm extends which, the changed classes, and the lines.
    """
    from yieldrl.cli import catalog

    print(catalog.tree_listing() if tree else catalog.listing())


@_command
def train(algorithm: Positional[str]) -> None:
    """Train; `yieldrl train ppo --help` shows the options of PPO.

    `yieldrl train --config FILE` takes the algorithm that the file names.

    Args:
        algorithm: One of `yieldrl list`, or a module of your own that has a `Trainer`;
            its options follow it.
    """
    _with_algorithm("train", algorithm, [])


@_command
def tune(algorithm: Positional[str]) -> None:
    """Search for hyperparameters, over several seeds; `yieldrl tune ppo --help`.

    Args:
        algorithm: One of `yieldrl list`, or a module of your own that has a `Trainer`;
            its options follow it, which are the same in all trials.
    """
    _with_algorithm("tune", algorithm, [])


def _with_algorithm(name: str, algorithm: str | None, words: list[str]) -> None:
    """Run `train` or `tune`, whose options are those of an algorithm."""
    from yieldrl.cli import catalog

    # A file alone, which may be a stranger's, imports nothing from where it lies.
    is_own = algorithm is not None and algorithm not in catalog.folders()
    with usage_errors():
        if is_own or "--trust" in words or any(":" in word for word in words):
            catalog.importable_from_here()
        if algorithm is not None:
            catalog.check_name(algorithm)  # before PyTorch is imported
        from yieldrl.cli.run_spec import find_trainer

        trainer_class = None if algorithm is None else find_trainer(algorithm)
    prog = f"yieldrl {name}" if algorithm is None else f"yieldrl {name} {algorithm}"
    commands = {"train": training.train_command, "tune": tuning.tune_command}
    commands[name](trainer_class, words, prog=prog)


evaluate = _command(evaluating.evaluate)


@_command
@usage_errors()
def export(
    run: Positional[str],
    format: Literal["json", "onnx"] = "json",  # noqa: A002 (the name of the option)
    out: str | None = None,
    checkpoint: str = "last",
    trust: bool = False,
) -> None:
    """Write a trained policy to a file that needs neither this package nor PyTorch.

    It is what `evaluate` plays: the deterministic policy.

    Args:
        run: Folder of a run, or a checkpoint file.
        format: `json` has the layers and weights of tables, MLPs and small CNNs, for
            a page or a few lines of NumPy; `onnx` is a program for ONNX Runtime and
            the like.
        out: File to write; by default `policy.json` or `policy.onnx` in the folder of
            the run.
        checkpoint: `last`, `best` in the evaluations of training (the last, if none was
            the best), or a file.
        trust: Import and run code that the run names and that is not of yieldrl.
    """
    from yieldrl import exports
    from yieldrl.cli import restoring
    from yieldrl.experiments import run_files
    from yieldrl.loggers.checkpoints import describe_checkpoint

    write = {"json": exports.write_json, "onnx": exports.write_onnx}[format]
    saved = run_files.find_checkpoint(run, checkpoint)
    folder = Path(run) if Path(run).is_dir() else saved.parent
    path = folder / f"policy.{format}" if out is None else Path(out)
    with restoring.player(saved, 1, "cpu", trust=trust) as trainer:
        path = write(trainer.agent, path)
        chosen = describe_checkpoint(saved, trainer.agent.sample_step)
    print(f"checkpoint: {chosen}\npolicy: {path}")


resume = _command(training.resume)


@_command
@usage_errors()
def status(run: Positional[str]) -> None:
    """Show the state of a run: running or not, its steps, and its workers on Ray.

    Args:
        run: Folder of a run, under way or ended.
    """
    from yieldrl.experiments import run_status

    print(run_status.status(run))


@_command
@usage_errors()
def plot(
    runs: Annotated[Positional[tuple[str, ...]], arg(help_behavior_hint="(required)")],
    out: str = "curves.png",
    metric: str = "episode_return",
    log_type: Literal["collect", "train", "evaluate"] = "evaluate",
) -> None:
    """Draw learning curves; runs that differ only in their seed become one line.

    Args:
        runs: Folders of runs, or folders that hold such folders.
        out: Image file to write; an .svg is written beside it.
        metric: Metric to draw.
        log_type: The kind of log that has the metric.
    """
    from yieldrl.experiments import plot as plots

    for path in plots.draw(runs, out, metric=metric, log_type=log_type):
        print(path)


@_command
@usage_errors()
def check(
    chapter: Positional[str], file: str | None = None, json: bool = False
) -> None:
    """Check your answer to an exercise of the course, property by property.

    The exit status is 1 if one does not hold.

    Args:
        chapter: For example `ch09`.
        file: Your answer, if it is not the `exercise.py` of the chapter, which is made
            if it is not there.
        json: Print a list for a program that grades: of each property whether it
            holds, and if not, what was found instead, and a hint.
    """
    from yieldrl import exercises

    if not (exercises.grade if json else exercises.check)(chapter, file=file):
        raise SystemExit(1)


@_command
@usage_errors()
def new(
    name: Positional[str], source: Annotated[str, arg(name="from")], into: str = "."
) -> None:
    """Copy an algorithm as the start of your own.

    Args:
        name: Name of the copy, for example `my_ppo`.
        source: The algorithm to copy.
        into: Folder that will hold the copy.
    """
    from yieldrl.cli import catalog

    print(catalog.copy(name, source, into))
