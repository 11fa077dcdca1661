"""Parse a command line, and a file, into a run: its spec and its config."""

import dataclasses
import inspect
import json
import re
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import docstring_parser
import tyro
import yaml
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass
from tyro.constructors import PrimitiveConstructorSpec

from yieldrl.cli import catalog
from yieldrl.cli.errors import parsing_errors
from yieldrl.cli.run_spec import RunSpec
from yieldrl.core.config_blocks import HOMES, WORDS
from yieldrl.core.files import YamlLoader, naming, read_file
from yieldrl.core.named_code import refuse_untrusted


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """Options that say which file the others start from."""

    config: str | None = None
    """JSON, YAML or TOML file whose values replace the defaults below, or the name of a
    tuned one that comes with an algorithm, such as `ppo/pendulum`. Options override the
    file."""

    trust: bool = False
    """Let the file name code of your own or of others: it will be imported and run."""


@dataclass(frozen=True, kw_only=True)
class Options(FileOptions):
    """Options of a run besides the algorithm's config."""

    print_config: bool = False
    """Print the whole run as a file for `--config`, and train nothing."""

    wandb: bool = False
    """Log to Weights & Biases as well."""

    trackio: bool = False
    """Log to Trackio, a tracker on your own disk, as well."""

    video: bool = False
    """Record a video every 50 000 steps and at the end, into the folder of the run."""

    checkpoint_every: int | None = None
    """Environment steps between checkpoints; 0 saves by time and at the end alone. By
    default as the file says, or 50 000."""

    checkpoint_seconds: float | None = None
    """Seconds between checkpoints, whatever the steps; 0 saves by steps and at the end
    alone. A run that is killed loses what came after its last checkpoint. By default as
    the file says, or 120."""


@checked_dataclass(frozen=True, kw_only=True)
class TuneOptions(FileOptions):
    """Options of a search besides the algorithm's config, which is the same for all of
    its trials."""

    trials: Annotated[int, Field(ge=1)] = 40
    """Trials in all; the command goes on with those that are in the folder."""

    seeds: Annotated[int, Field(ge=1)] = 3
    """Seeds of each trial, from `--seed` on; its return is their mean. More make the
    search slower and less easily deceived by luck."""

    fresh_seeds: Annotated[int, Field(ge=0)] = 3
    """Seeds on which the best settings, and those of the beginning, are trained once
    more at the end: the next ones, on which no trial was trained."""

    space: tuple[str, ...] = ()
    """What is tuned, in place of the usual fields: `NAME=LOW..HIGH`,
    `NAME=LOW..HIGH:log`, `NAME=[A,B]`, `NAME` (its usual range), or a YAML file with
    `NAME: {low: 1e-5, high: 1e-2, log: true}` or `NAME: [A, B]` in each line."""

    sampler: Literal["tpe", "random"] = "tpe"
    """What draws the settings: `tpe` looks where good ones were, `random` anywhere."""

    pruner: Literal["median", "halving", "hyperband", "none"] = "median"
    """What ends trials early, at evaluations: `median` those below the median of
    earlier ones, after a third of the steps; `halving` two thirds at each rung, from
    the first evaluation on; `hyperband` with rungs that begin early or late."""

    metric: str = "episode_return"
    """Metric of evaluations to maximize, such as `success_rate`."""

    jobs: Annotated[int, Field(ge=1)] = 1
    """Trials at a time, each in a process of its own. Only with one the same command
    gives the same trials."""

    on_ray: bool = False
    """Train the jobs on Ray, that of `--ray-address` or one on this machine. The folder
    must be on a disk that all its machines share."""


SWITCHES = "video", "trackio", "wandb"
"""Options that add the logger of their name, or leave it out."""

BACKGROUND = "collection", "max_policy_lag", "when_stale"
ENGINE = "engine", "zero_stage"
TUNING = tuple(x.name for x in dataclasses.fields(TuneOptions)[2:])  # no file's
GROUPS = {
    "tuning": TUNING,
    "task": (*HOMES["env"], "total_steps"),
    "algorithm": (),  # all that no other group has
    "run": (
        *(entry.name for entry in dataclasses.fields(Options)),
        *(name for name in HOMES["trainer"] if name != "total_steps"),
        *("compile", "precision", "eval_in_order"),
    ),
    "background": BACKGROUND,
    "cluster": tuple(x for x in HOMES["collector"] if x not in BACKGROUND + ENGINE),
    "engine": ENGINE,
}
"""Title -> options, in the order of `--help`."""


@dataclass(frozen=True)
class Command:
    """A parsed command line: a run, and the options of the command."""

    spec: RunSpec
    config: Any
    options: Any


def parse(
    trainer_class: type[Any] | None,
    words: Sequence[str],
    prog: str,
    kind: type[Any] = Options,
) -> Command:
    """Read a command line, with an option for every field of the algorithm's config.

    Args:
        trainer_class: Its `config_class` has the fields, their docstrings the help; by
            default the config file says which.
        words: The command line after the program's name.
        prog: The program's name in the help.
        kind: The options of the command besides, such as `TuneOptions`.

    Raises:
        ImportError: If something that the file names is not there.
        ValueError: If a file or a value is wrong; the message says which.
        SystemExit: After `--help`, and if there is no such option.
    """
    # First the file alone, because its values become the defaults shown by --help.
    with parsing_errors():
        given = {"args": words, "prog": prog, "add_help": False}
        first, _ = tyro.cli(FileOptions, return_unknown_args=True, **given)
    spec, config = _from_file(first.config, trainer_class, first.trust)
    named = {one.name: True for one in spec.loggers if one.name in SWITCHES}
    entries = {x.name: getattr(config, x.name) for x in dataclasses.fields(config)}
    defaults = vars(kind()) | named | vars(first) | entries
    stand_in = _grouped(defaults, _options_of(kind) | _options_of(type(config)))
    known = {name: name for name in defaults}
    with parsing_errors({k: v for k, v in WORDS.items() if v in known} | known):
        chosen = tyro.cli(
            type(stand_in),
            prog=prog,
            description=re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.getdoc(config) or ""),
            args=words,
            default=stand_in,
            config=(tyro.conf.OmitArgPrefixes,),
        )
    values = {k: v for group in vars(chosen).values() for k, v in vars(group).items()}
    options = kind(**{name: values.pop(name) for name in vars(kind())})
    if isinstance(options, Options):
        spec = _with_options(spec, options)
    return Command(spec, type(config).from_dict(values), options)


def _grouped(defaults: dict[str, Any], hints: dict[str, Any]) -> Any:
    """A dataclass of groups of options, which `--help` shows one below the other.

    It has no checks, so that no default is rejected before all options are read.
    """
    home = {name: title for title, names in GROUPS.items() for name in names}
    groups: dict[str, dict[str, Any]] = {title: {} for title in GROUPS}
    for name, hint in hints.items():
        groups[home.get(name, "algorithm")][name] = hint
    parts = {
        title: dataclasses.make_dataclass(title, group.items())(
            **{name: defaults[name] for name in group}
        )
        for title, group in groups.items()
        if group
    }
    kinds = [(title, type(part)) for title, part in parts.items()]
    return dataclasses.make_dataclass("Command", kinds)(**parts)


def _from_file(
    name: str | None, trainer_class: type[Any] | None, trust: bool
) -> tuple[RunSpec, Any]:
    if name is None:
        spec = RunSpec.of({}, trainer_class)
        return spec, spec.trainer_class.config_class()
    path = catalog.find_config(name, trainer_class)
    with naming(path):
        values = read_file(path)
        spec = RunSpec.of(values, trainer_class, None if trust else path)
        config = spec.trainer_class.config_class.from_dict(values)
        if not trust:
            refuse_untrusted(config.to_dict(), path)
    return spec, config


def _with_options(spec: RunSpec, options: Options) -> RunSpec:
    """The spec with the loggers that the options ask for."""
    for name in SWITCHES:
        spec = spec.with_logger(name, getattr(options, name))
    cfg = {"every": options.checkpoint_every, "seconds": options.checkpoint_seconds}
    given = {name: value for name, value in cfg.items() if value is not None}
    return spec.with_logger("checkpoint", True, **given) if given else spec


def _options_of(cls: type[Any]) -> dict[str, Any]:
    """Every field of a dataclass with its type and, as help, its docstring."""
    hints, texts = typing.get_type_hints(cls), docstrings(cls)
    options: dict[str, Any] = {}
    for entry in dataclasses.fields(cls):
        hint = hints[entry.name]
        if typing.get_origin(hint) is dict:
            hint = Annotated[hint, _KEY_VALUES]
        shown = tyro.conf.arg(help=texts.get(entry.name))
        options[entry.name] = Annotated[hint, shown]
    return options


def docstrings(cls: type[Any]) -> dict[str, str]:
    """Field -> its docstring in one line, from the nearest class that has one."""
    texts: dict[str, str] = {}
    for base in reversed(cls.__mro__[:-1]):
        for field in docstring_parser.parse_from_object(base).params:
            texts[field.arg_name] = " ".join((field.description or "").split())
    return texts


class _Typed(YamlLoader):
    """A value on the command line, where `None` is None as in all other options."""


_Typed.add_implicit_resolver("tag:yaml.org,2002:null", re.compile("None$"), ["N"])


def _read_pairs(words: list[str]) -> dict[str, Any]:
    pairs = [word.partition("=") for word in words]
    for key, equals, _ in pairs:
        if not (key and equals):
            raise ValueError(f"{key!r}: write KEY=VALUE, for example gravity=9.8")
    try:
        return {key: yaml.load(value, _Typed) for key, _, value in pairs}
    except yaml.YAMLError as reason:
        raise ValueError(f"{' '.join(words)}: not readable as YAML: {reason}") from None


_KEY_VALUES = PrimitiveConstructorSpec(
    nargs="*",
    metavar="[KEY=VALUE ...]",
    instance_from_str=_read_pairs,
    is_instance=lambda value: isinstance(value, dict),
    str_from_instance=lambda values: [
        f"{key}={json.dumps(value)}" for key, value in values.items()
    ],
)
