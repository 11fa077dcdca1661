"""`yieldrl tune`: a search for hyperparameters, what is said of it, and its files."""

import re
import shlex
import statistics
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from yieldrl.cli.errors import fail, usage_errors
from yieldrl.cli.training import shown
from yieldrl.loggers.base import require_package
from yieldrl.loggers.files import WriteError, write_atomically


def tune_command(
    trainer_class: type[Any] | None, argv: Sequence[str], *, prog: str
) -> None:
    """Search as the command line says, train on fresh seeds, and write the files.

    SystemExit with code 2 if something is wrong with the words, 130 after Ctrl-C.
    """
    with ExitStack() as stack:
        with usage_errors():
            from yieldrl.cli import options
            from yieldrl.experiments.tuning_jobs import workers

            command = options.parse(trainer_class, argv, prog, options.TuneOptions)
            own, config = command.options, command.config
            tuner = stack.enter_context(closing(_tuner(command, argv)))
            address = getattr(config, "ray_address", "") if own.on_ray else None
            gpu = config.device.startswith("cuda")
            executor = stack.enter_context(workers(own.jobs, address, gpu=gpu))
        try:
            for trial in tuner(own.trials, executor, own.jobs):
                print(_line(trial, tuner, own.trials), flush=True)
            _finish(tuner, command, shlex.join([*prog.split(), *argv]), executor)
        except KeyboardInterrupt:
            print("\ninterrupted; the same command goes on")
            raise SystemExit(130) from None
        except WriteError as reason:
            fail(str(reason))


def _tuner(command: Any, argv: Sequence[str]) -> Any:
    """The search of a command, after a look at all that can be wrong with it."""
    from yieldrl.experiments import run_files
    from yieldrl.experiments.search_space import make_space
    from yieldrl.experiments.tuning import Tuner

    for package in ("optuna", "plotly"):  # which is needed at the end
        require_package(package, extra="tune")
    spec, config, own = command.spec, command.config, command.options
    spec.make_loggers()  # they will stand in a file
    words = [word.partition("=")[0] for word in argv if word.startswith("--")]
    fixed = [word[2:].replace("-", "_").removeprefix("no_") for word in words]
    space = make_space(config, own.space, fixed)
    with spec.make_trainer(config) as trainer:
        known = trainer.evaluate(1)["logs"]
    if own.metric not in known:
        raise ValueError(f"--metric {own.metric}: evaluations have {', '.join(known)}")
    name = run_files.trainer_name(spec.trainer_class)
    default = re.sub(r"[/:\\\0]", "-", f"tune-{name}-{config.env_id}")
    about = {"algorithm": name, "policy": spec.policy._asdict()}
    folder = Path(config.run_root, config.run_name or default)
    tuner = Tuner(folder, spec.make_trainer, config, space, own, about)
    print(f"study: {shown(tuner.folder)}, {len(tuner.ended())} of {own.trials} trials")
    print(f"each: the mean of seeds {_listed(tuner.seeds)}")
    print("tuned:", *(f"{name}={one}" for name, one in space.items()), flush=True)
    return tuner


def _line(trial: Any, tuner: Any, trials: int) -> str:
    """What is said of a trial that has ended."""
    said = trial.user_attrs["note"]
    if not said:
        best = tuner.best.number == trial.number
        said = tuner.options.metric.removeprefix("episode_")
        said += f" {trial.value:.6g}{', the best so far' if best else ''}"
    values = " ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in trial.params.items()
    )
    seconds = trial.duration.total_seconds()
    return f"{len(tuner.ended())}/{trials} {said} ({values}; {seconds:.0f} s)"


def _finish(tuner: Any, command: Any, words: str, executor: Any) -> None:
    """Train the best settings on fresh seeds, and write and name the files."""
    from yieldrl.cli.run_spec import refuse_untrusted_run
    from yieldrl.core.files import to_yaml
    from yieldrl.core.named_code import UntrustedError
    from yieldrl.experiments.tuning import settings
    from yieldrl.experiments.tuning_page import write_page

    own, best, config = command.options, tuner.best, command.config
    if best is None:
        fail("no trial came to its end: allow more --trials, or --pruner none")
    start, chosen = (settings(config, x, config.seed) for x in ({}, best.params))
    whole, path = command.spec.to_dict(chosen), tuner.folder / "best.yaml"
    file = shlex.quote(str(shown(path)))
    train = f"yieldrl train {whole['algorithm']['name']} --config {file}"
    try:
        refuse_untrusted_run(whole, path)
    except UntrustedError:
        train += " --trust"
    said = f"{own.metric} {best.value:.6g}, number {best.number} (from 0)"
    seeds = f"the mean of seeds {_listed(tuner.seeds)} at {config.total_steps:,} steps"
    lines = [f"Best of {len(tuner.ended())} trials: {said}, {seeds}."]
    if own.fresh_seeds:
        print(f"trains on {own.fresh_seeds} fresh seeds", flush=True)
        rivals = {"These settings": best, "Those of the beginning": None}
        for name, trial in [*rivals.items()][: 1 + (chosen != start)]:
            returns = tuner.fresh(trial, own.fresh_seeds, executor, own.jobs)
            result = _mean([*returns.values()])
            lines.append(f"{name} on fresh seeds {_listed(returns)}: {result}.")
        train += f" --seed {config.seed + own.seeds}"
    lines.append(f"Train: {train}")
    comments = "".join(f"# {line}\n" for line in (f"Found by: {words}", *lines))
    write_atomically(path, comments + to_yaml(whole))
    page = write_page(tuner.study, tuner.folder / "tuning.html", words, lines)
    print(*lines, f"best settings: {shown(path)}", f"page: {shown(page)}", sep="\n")


def _mean(values: list[float]) -> str:
    if len(values) == 1:
        return f"{values[0]:.6g}"
    each = _listed(f"{value:.6g}" for value in values)
    mean, spread = statistics.fmean(values), statistics.stdev(values)
    return f"{mean:.6g} +- {spread:.4g} ({each})"


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(map(str, values))
