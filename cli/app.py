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

from yieldrl.cli import evaluating, playing, training, tuning
from yieldrl.cli.errors import fail, nearest, parsing_errors, usage_errors

Runs = Annotated[Positional[tuple[str, ...]], arg(help_behavior_hint="(required)")]

_app = SubcommandApp()
_names: list[str] = []


def _command(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a command; tyro would keep line breaks inside of an argument's help."""
    inner = inspect.unwrap(function)
    inner.__doc__ = re.sub(r"\n {8}", " ", inspect.getdoc(inner) or "")

    @functools.wraps(function)
    def parsed(*args: Any, **kwargs: Any) -> Any:
        return functools.partial(function, *args, **kwargs)

    _names.append(re.sub(r"_(algorithms|agent)$", "", function.__name__))
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
    """List the algorithms, their tuned configs, and trained agents to play.

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
play = _command(playing.play)


@_command
@usage_errors()
def export(
    run: Positional[str],
    to: Literal["json", "onnx", "card"] = "json",
    out: str | None = None,
    episodes: int | None = None,
    seed: int = evaluating.SEED,
    checkpoint: str = "last",
    trust: bool = False,
) -> None:
    """Write a trained agent for other programs, or to give it away.

    It is what `evaluate` plays: the deterministic policy.

    Args:
        run: Folder of a run, a file of an agent, or an agent of `yieldrl list`.
        to: `json` has the layers and weights of tables, MLPs and small CNNs, for
            a page or a few lines of NumPy; `onnx` is a program for ONNX Runtime and
            the like; `card` is a folder for the Hugging Face hub: the agent, which
            `yieldrl play` and `yieldrl import` take, its config, its returns, a film.
        out: File or folder to write; by default `policy.json`, `policy.onnx` or `card`
            in the folder of the run.
        episodes: Episodes that judge the agent of a card; by default 100, and 512 where
            actions are text.
        seed: Seed of these episodes.
        checkpoint: `last`, `best` in the evaluations of training (the last, if none was
            the best), or a file.
        trust: Import and run code that the run names and that is not of yieldrl.
    """
    from yieldrl import exports
    from yieldrl.cli import restoring
    from yieldrl.loggers.checkpoints import describe_checkpoint

    saved = restoring.locate(run, checkpoint)
    folder = Path(run) if Path(run).is_dir() else saved.parent
    folder = folder if Path(run).exists() else Path()  # not in the package
    path = Path(out or folder / ("card" if to == "card" else f"policy.{to}"))
    if to == "card":
        playing.write_card(saved, path, episodes, seed, trust)
        return
    write = {"json": exports.write_json, "onnx": exports.write_onnx}[to]
    with restoring.player(saved, 1, "cpu", trust=trust) as trainer:
        path = write(trainer.agent, path)
        chosen = describe_checkpoint(saved, trainer.agent.sample_step)
    print(f"checkpoint: {chosen}\npolicy: {path}")


@_command
@usage_errors()
def import_agent(
    source: Positional[str], run_name: str | None = None, trust: bool = False
) -> None:
    """Take over an agent of others: a folder in `runs` to play, evaluate and export.

    Args:
        source: Folder of a card, a file of safetensors, `USER/REPOSITORY` on the
            Hugging Face hub, or an agent of `yieldrl list`.
        run_name: Name of the folder; by default algorithm, environment and seed.
        trust: Import and run code that the agent names and that is not of yieldrl.
    """
    playing.take_over(source, run_name, trust)


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
    runs: Runs,
    kind: Literal["curves", "iqm", "improvement", "profile"] = "curves",
    out: str | None = None,
    metric: str = "episode_return",
    log_type: Literal["collect", "train", "evaluate"] = "evaluate",
    normalize: tuple[str, ...] = (),
) -> None:
    """Draw learning curves, or compare algorithms by what their runs reached.

    Runs that differ only in their seed belong together.

    Args:
        runs: Folders of runs, or folders that hold such folders.
        kind: `curves` is a metric over the steps of training. The others compare the
            last values of the runs: `iqm` is the interquartile mean of each algorithm,
            `improvement` the probability that a run of one is better than a run of
            another, `profile` the share of runs above each score.
        out: Image file to write, by default KIND.png; an .svg is written beside it.
        metric: Metric to draw.
        log_type: The kind of log that has the metric.
        normalize: For `iqm` and `profile` of several tasks: the scores of each task
            that become 0 and 1, as in `CartPole-v1=0:500 Acrobot-v1=-500:-80`.
    """
    from yieldrl.experiments import comparison
    from yieldrl.experiments import plot as plots

    ranges = comparison.parse_ranges(normalize)
    if kind != "curves":
        logged = {"metric": metric, "log_type": log_type}
        drawing = comparison.figure(kind, runs, ranges, **logged)
    elif ranges:
        raise ValueError("--normalize is for --kind iqm and --kind profile")
    else:
        curves = plots.curves(runs, metric, log_type)
        drawing = plots.figure(curves, f"{log_type}/{metric}")
    for path in plots.save(drawing, out or f"{kind}.png"):
        print(path)


@_command
@usage_errors()
def report(runs: Runs, out: str = "report.html", max_video_mb: float = 8) -> None:
    """Write a page about runs: one HTML file to send to somebody, or to keep.

    It has their curves, configs and what differs in them, evaluations, films, versions
    and machines, and needs no other file and no network.

    Args:
        runs: Folders of runs, or folders that hold such folders.
        out: File to write.
        max_video_mb: Megabytes up to which the newest film of a run is put in.
    """
    from yieldrl.experiments import report as page

    print(page.write(runs, out, max_video_mb))


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
