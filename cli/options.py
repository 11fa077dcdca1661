"""From the words of a command line to the config of an algorithm, and its help."""

from __future__ import annotations

import dataclasses
import json
import math
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, get_args

import docstring_parser
import tyro
import yaml
from tyro.conf import arg
from tyro.constructors import PrimitiveConstructorSpec

from yieldrl.cli import tuned


@dataclass(frozen=True, kw_only=True)
class Options:
    """What training needs to know besides the algorithm's config."""

    config: str | None = None
    """JSON or YAML file whose values replace the defaults below, or the name of a tuned
    one that comes with an algorithm, such as `ppo/pendulum`. Options override the
    file."""

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


def parse(
    trainer_class: type[Any], words: Sequence[str], prog: str
) -> tuple[Options, Any]:
    """Read a command line, with an option for every field of the algorithm's config.

    Args:
        trainer_class: Its `config_class` has the fields, their docstrings the help.
        words: The command line after the program's name.
        prog: The program's name in the help.

    Returns:
        The options and the config.

    Raises:
        ValueError: If a file or a value is wrong; the message says which.
        SystemExit: After `--help`, and if there is no such option.
    """
    config_class = trainer_class.config_class
    fields = [*_options_of(Options), *_options_of(config_class)]
    _refuse_stray_values(words, dict(fields))
    # First the file alone, because its values become the defaults shown by --help.
    named, _ = tyro.cli(
        Options, args=words, prog=prog, return_unknown_args=True, add_help=False
    )
    if named.config is None:
        config = config_class()
    else:
        config = tuned.load(named.config, trainer_class)
    # A plain stand-in without checks: its defaults are then never refused half way.
    stand_in = dataclasses.make_dataclass("Command", fields)
    chosen = tyro.cli(
        stand_in,
        prog=prog,
        description=config_class.__doc__,
        args=words,
        default=stand_in(**vars(Options()), **_values(config)),
    )
    values = vars(chosen)
    options = Options(**{name: values.pop(name) for name in _values(Options())})
    _refuse_wrong(options)
    return options, config_class(**values)


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


def _options_of(cls: type[Any]) -> list[tuple[str, Any]]:
    """Every field of a dataclass with its type and, as help, its docstring."""
    hints, texts = typing.get_type_hints(cls), _docstrings(cls)
    return [
        (
            name,
            Annotated[
                _readable(hints[name]),
                arg(help=texts.get(name), help_behavior_hint=_hint),
            ],
        )
        for name in (entry.name for entry in dataclasses.fields(cls))
    ]


def _refuse_stray_values(words: Sequence[str], hints: dict[str, Any]) -> None:
    """Refuse values that no option takes, by the name of the option before them."""
    most, option, values = _most_values(hints), None, 0
    for word in words:
        if word.startswith("--") or word == "-h":
            option, values = word, 0
            continue
        if option is None:
            raise ValueError(f"got {word!r} where an option should stand: see --help")
        name, equals, _ = option[2:].replace("-", "_").partition("=")
        values += 1
        if values + len(equals) <= most.get(name, math.inf):
            continue
        if most[name] == 1:
            raise ValueError(f"{option} takes one value, got {word!r} too")
        flag = name.removeprefix("no_").replace("_", "-")
        raise ValueError(
            f"{option} takes no value, got {word!r}: write --{flag} or --no-{flag}"
        )


def _most_values(hints: dict[str, Any]) -> dict[str, float]:
    """Option, with underscores -> how many values it takes at most."""
    most: dict[str, float] = {}
    for name, hint in hints.items():
        kind = get_args(hint)[0]  # of Annotated
        kinds = {typing.get_origin(each) or each for each in (kind, *get_args(kind))}
        most[name] = math.inf if kinds & {dict, list, set, tuple} else 1
        if kind is bool:
            most[name] = most[f"no_{name}"] = 0
    return most


def _docstrings(cls: type[Any]) -> dict[str, str]:
    """Field -> its docstring in one line, as the nearest class says it."""
    texts: dict[str, str] = {}
    for base in reversed(cls.__mro__[:-1]):
        for field in docstring_parser.parse_from_object(base).params:
            texts[field.arg_name] = " ".join((field.description or "").split())
    return texts


def _readable(hint: Any) -> Any:
    """A type that words can stand for: mappings are read as KEY=VALUE."""
    return Annotated[hint, _KEY_VALUES] if typing.get_origin(hint) is dict else hint


def _hint(default: str) -> str:
    return "" if default in ("", "None") else f"(default: {default})"


def _read_pairs(words: list[str]) -> dict[str, Any]:
    pairs = [word.partition("=") for word in words]
    for key, equals, _ in pairs:
        if not (key and equals):
            raise ValueError(f"{key!r}: write KEY=VALUE, for example gravity=9.8")
    try:
        return {key: yaml.safe_load(value) for key, _, value in pairs}
    except yaml.YAMLError as reason:
        raise ValueError(f"{' '.join(words)}: not readable as YAML: {reason}") from None


def _write_pairs(values: dict[str, Any]) -> list[str]:
    return [f"{key}={json.dumps(value)}" for key, value in values.items()]


_KEY_VALUES = PrimitiveConstructorSpec(
    nargs="*",
    metavar="[KEY=VALUE ...]",
    instance_from_str=_read_pairs,
    is_instance=lambda value: isinstance(value, dict),
    str_from_instance=_write_pairs,
)
