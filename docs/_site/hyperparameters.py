"""`::: hyperparameters of dqn` is a table of all fields of a config.

Its own fields come first, then what it inherits from other algorithms, then those that
every algorithm has. The help is that of the command line.

`::: fields of dqn: gamma tau` is a table of some of them, in this order.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from typing import Any

from yieldrl.cli.field_options import docstrings
from yieldrl.foundations.config_places import PlacesConfig
from yieldrl.off_policy import EpsilonConfig, OffPolicyConfig
from yieldrl.on_policy import ActorCriticConfig, OnPolicyConfig

from .directives import DirectiveError, directive

SHARED = {
    ActorCriticConfig: "Of every actor with a critic",
    OnPolicyConfig: "Of every algorithm on rollouts",
    OffPolicyConfig: "Of every algorithm with a replay buffer",
    EpsilonConfig: "Of every epsilon-greedy algorithm",
    PlacesConfig: "Of collecting, and of processes on Ray",
}
"""Class of what several algorithms share -> title of its fields."""

HEAD = ["| field | default | what it does |", "| --- | --- | --- |"]


@directive(r"fields of (\w+):((?: \w+)+)")
def table(algorithm: str, some: str) -> str:
    """Some fields of an algorithm's config, a row each."""
    cls, names = _config(algorithm), some.split()
    fields = {field.name: field for field in dataclasses.fields(cls)}
    if lost := [name for name in names if name not in fields]:
        raise DirectiveError(f"algorithms/{algorithm} has no field {' '.join(lost)}")
    texts = docstrings(cls)
    return "\n".join([*HEAD, *(_row(fields[n], texts.get(n, "")) for n in names)])


@directive(r"hyperparameters of (\w+)")
def tables(algorithm: str) -> str:
    """A folded table for every class that has fields, the algorithm's own first."""
    cls = _config(algorithm)
    texts, groups = docstrings(cls), by_class(cls)
    parts = []
    for base, fields in groups.items():
        rows = [_row(field, texts.get(field.name, "")) for field in fields]
        lines = "\n".join(f"    {line}" for line in [*HEAD, *rows])
        count = f"{len(fields)} field{'s' * (len(fields) > 1)}"
        parts.append(f'??? abstract "{_title(base, algorithm)}: {count}"\n\n{lines}')
    return "\n\n".join(parts)


def by_class(cls: type[Any]) -> dict[type[Any], list[dataclasses.Field[Any]]]:
    """Class -> the fields that it defines last, in the order of inheritance."""
    groups: dict[type[Any], list[dataclasses.Field[Any]]] = {}
    for base in cls.__mro__[:-1]:
        taken = {field.name for fields in groups.values() for field in fields}
        own = inspect.get_annotations(base)
        fields = [f for f in dataclasses.fields(cls) if f.name in own]
        if rest := [field for field in fields if field.name not in taken]:
            groups[base] = rest
    return groups


def _config(algorithm: str) -> type[Any]:
    module = importlib.import_module(f"yieldrl.algorithms.{algorithm}")
    return module.Trainer.config_class


def _title(base: type[Any], algorithm: str) -> str:
    if base in SHARED:
        return SHARED[base]
    if base.__module__.startswith("yieldrl.foundations"):
        return "Of every algorithm"
    folder = base.__module__.removesuffix(".config").rpartition(".")[2]
    own = folder == algorithm
    return "Its own, or with a default of its own" if own else f"From {folder}"


def _row(field: dataclasses.Field[Any], text: str) -> str:
    made = field.default_factory
    default = field.default if made is dataclasses.MISSING else made()
    large = type(default) is int and abs(default) >= 10_000
    shown = f"{default:_}" if large else repr(default)
    return f"| `{field.name}` | `{shown}` | {text.replace('|', chr(92) + '|')} |"
