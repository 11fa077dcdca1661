"""Fields of a dataclass as options of a command line, their docstrings as the help."""

import dataclasses
import json
import math
import re
import typing
from collections.abc import Sequence
from typing import Annotated, Any, get_args

import docstring_parser
import yaml
from tyro.conf import arg
from tyro.constructors import PrimitiveConstructorSpec

from yieldrl.foundations.files import YamlLoader


class _Typed(YamlLoader):
    """A value on the command line, where `None` is None as in all other options."""


_Typed.add_implicit_resolver("tag:yaml.org,2002:null", re.compile("None$"), ["N"])


def options_of(cls: type[Any]) -> list[tuple[str, Any]]:
    """Every field of a dataclass with its type and, as help, its docstring."""
    hints, texts = typing.get_type_hints(cls), docstrings(cls)
    options: list[tuple[str, Any]] = []
    for entry in dataclasses.fields(cls):
        hint = hints[entry.name]
        if typing.get_origin(hint) is dict:
            hint = Annotated[hint, _KEY_VALUES]
        shown = arg(help=texts.get(entry.name), help_behavior_hint=_default)
        options.append((entry.name, Annotated[hint, shown]))
    return options


def refuse_stray_values(words: Sequence[str], hints: dict[str, Any]) -> None:
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
    """Option, with underscores -> the most values that it takes."""
    most: dict[str, float] = {}
    for name, hint in hints.items():
        kind = get_args(hint)[0]  # the type in Annotated
        kinds = {typing.get_origin(each) or each for each in (kind, *get_args(kind))}
        most[name] = math.inf if kinds & {dict, list, set, tuple} else 1
        if kind is bool:
            most[name] = most[f"no_{name}"] = 0
    return most


def docstrings(cls: type[Any]) -> dict[str, str]:
    """Field -> its docstring in one line, from the nearest class that has one."""
    texts: dict[str, str] = {}
    for base in reversed(cls.__mro__[:-1]):
        for field in docstring_parser.parse_from_object(base).params:
            texts[field.arg_name] = " ".join((field.description or "").split())
    return texts


def _default(default: str) -> str:
    return "" if default in ("", "None") else f"(default: {default})"


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
