"""From the words of a command line, and a file, to a run: its plan and its config."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tyro

from yieldrl.cli import named, tuned
from yieldrl.cli.field_options import options_of, refuse_stray_values
from yieldrl.cli.plan import Plan
from yieldrl.foundations.files import read_file


@dataclass(frozen=True, kw_only=True)
class Options:
    """What training needs to know besides the algorithm's config."""

    config: str | None = None
    """JSON, YAML or TOML file whose values replace the defaults below, or the name of a
    tuned one that comes with an algorithm, such as `ppo/pendulum`. Options override the
    file."""

    print_config: bool = False
    """Print the whole run as a file for `--config`, and train nothing."""

    wandb: bool = False
    """Log to Weights & Biases as well."""

    video: bool = False
    """Record a video every 50 000 steps and at the end, into the folder of the run."""

    checkpoint_every: int = 50_000
    """Environment steps between checkpoints; 0 saves by time and at the end alone."""

    checkpoint_seconds: float = 120.0
    """Seconds between checkpoints, whatever the steps; 0 saves by steps and at the end
    alone. A run that is killed loses what came after its last checkpoint."""


_MOST_STEPS = 10**12  # as `total_steps` has it


@dataclass(frozen=True)
class Command:
    """What a command line asks for.

    Attributes:
        plan: Algorithm, model and loggers.
        config: The algorithm's config.
        print_config: Whether to print that instead of training.
    """

    plan: Plan
    config: Any
    print_config: bool = False


def parse(trainer_class: type[Any] | None, words: Sequence[str], prog: str) -> Command:
    """Read a command line, with an option for every field of the algorithm's config.

    Args:
        trainer_class: Its `config_class` has the fields, their docstrings the help; by
            default the config file says which.
        words: The command line after the program's name.
        prog: The program's name in the help.

    Raises:
        ImportError: If something that the file names is not there.
        ValueError: If a file or a value is wrong; the message says which.
        SystemExit: After `--help`, and if there is no such option.
    """
    # First the file alone, because its values become the defaults shown by --help.
    first, _ = tyro.cli(
        Options, args=words, prog=prog, return_unknown_args=True, add_help=False
    )
    plan, config = _from_file(first.config, trainer_class)
    fields = [*options_of(Options), *options_of(type(config))]
    refuse_stray_values(words, dict(fields))
    # A plain stand-in without checks: its defaults are then never refused half way.
    stand_in = dataclasses.make_dataclass("Command", fields)
    chosen = tyro.cli(
        stand_in,
        prog=prog,
        description=type(config).__doc__,
        args=words,
        default=stand_in(**vars(of_plan(plan)), **_values(config)),
    )
    values = vars(chosen)
    options = Options(**{name: values.pop(name) for name in _values(Options())})
    _refuse_wrong(options)
    plan = with_options(plan, options)
    return Command(plan, type(config)(**values), options.print_config)


def of_plan(plan: Plan) -> Options:
    """The options that say what the loggers of a plan are."""
    return Options(
        wandb=plan.has("wandb"),
        video=plan.has("video"),
        checkpoint_every=plan.argument("checkpoint", "every", Options.checkpoint_every),
        checkpoint_seconds=plan.argument(
            "checkpoint", "seconds", Options.checkpoint_seconds
        ),
    )


def with_options(plan: Plan, options: Options) -> Plan:
    """The plan with the loggers that the options ask for."""
    plan = plan.with_logger("video", options.video).with_logger("wandb", options.wandb)
    every, seconds = options.checkpoint_every, options.checkpoint_seconds
    if (every, seconds) != (Options.checkpoint_every, Options.checkpoint_seconds):
        plan = plan.with_logger("checkpoint", True)
    return plan.with_arguments("checkpoint", every=every, seconds=seconds)


def _from_file(name: str | None, trainer_class: type[Any] | None) -> tuple[Plan, Any]:
    if name is None:
        plan = Plan.of({}, trainer_class)
        return plan, plan.trainer_class.config_class()
    path = tuned.find(name, trainer_class)
    with tuned.naming(path):
        values = read_file(path)
        plan = Plan.of(values, trainer_class)
        for one in plan.loggers:
            if one.name == "checkpoint":  # its arguments become defaults of options
                named.logger(one)
        return plan, plan.trainer_class.config_class.from_dict(values)


def _refuse_wrong(options: Options) -> None:
    """Check the options that no config checks."""
    if not 0 <= options.checkpoint_every <= _MOST_STEPS:
        raise ValueError(
            f"--checkpoint-every {options.checkpoint_every}: give a number at least 0"
            f" and at most {_MOST_STEPS}"
        )
    if not 0 <= options.checkpoint_seconds < math.inf:  # NaN is neither
        raise ValueError(
            f"--checkpoint-seconds {options.checkpoint_seconds}: give a finite number,"
            " at least 0"
        )


def _values(instance: Any) -> dict[str, Any]:
    return {
        entry.name: getattr(instance, entry.name)
        for entry in dataclasses.fields(instance)
    }
