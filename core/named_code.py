"""Code that is named by text: found in one place, and refused from unknown files.

A checkpoint, a config or a data set may come from a stranger, and whatever module it
names would be imported and run. So names from a file are used if they are registered,
or of `KNOWN` packages; others need the word of the reader, `trust=True`.
"""

import importlib
import re
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

CODE_FIELDS = {
    "env_id": r".*:.*",  # other ids are registered
    "wrappers": r".*",
    "demonstrations": r"[\w.]+:[\w.]*\w",  # other names are data sets, never imported
    "judge": r"(?!reward$).*",
    "model_class": r".*",
}
"""Fields, at any depth of a config, that may name code -> the values that do."""

KNOWN = (
    *("yieldrl", "gymnasium", "ale_py"),
    *("gym_aloha", "gym_pusht", "gymnasium_robotics", "metaworld"),
)
"""Packages of environments that a file may name: this one's and those it depends on."""

_ALGORITHMS = Path(__file__).resolve().parent.parent / "algorithms"


class UntrustedError(ValueError):
    """A file names code that is neither registered nor of a `KNOWN` package."""


def import_named(module: str, attribute: str) -> Any:
    """The class or function `attribute` of a module, which is imported.

    Raises:
        AttributeError: If the module has none.
        ImportError: If there is no such module.
        ValueError: If it is of Python itself, which has no part of any training.
    """
    value = getattr(importlib.import_module(module), attribute)
    home = str(getattr(value, "__module__", None) or module).partition(".")[0]
    if callable(value) and home in sys.stdlib_module_names:
        raise ValueError(f"it is Python's own {home}.{attribute}")
    return value


def is_function_of_user(value: Any) -> bool:
    """Whether it is a function that somebody wrote for the purpose it is named for.

    Those of `KNOWN` packages do other things, writing files among them.
    """
    value = value.func if isinstance(value, partial) else value
    home = str(getattr(value, "__module__", "")).partition(".")[0]
    return isinstance(value, FunctionType) and home not in KNOWN


def is_known(name: str) -> bool:
    """Whether a module or path is of a package in `KNOWN`.

    >>> is_known("gymnasium.wrappers:FlattenObservation"), is_known("os:system")
    (True, False)
    """
    return re.split(r"[.:]", name, maxsplit=1)[0] in KNOWN


def refuse_untrusted(values: Any, source: Any = "the file") -> None:
    """Raise UntrustedError if values of a config name code of somebody else.

    Tuned files that come with the algorithms may.

    Args:
        values: Nested mappings and lists; those of `CODE_FIELDS` are looked at.
        source: The file that they were read from.
    """
    if isinstance(source, Path) and source.resolve().is_relative_to(_ALGORITHMS):
        return
    for field, name in _code_in(values):
        refuse_unless(is_known(name), f"{field} = {name!r}", source)


def refuse_unless(trusted: bool, named: str, source: Any) -> None:
    """Raise UntrustedError, with the remedy, unless what a file names is trusted."""
    if not trusted:
        raise UntrustedError(
            f"{source}: {named} names code that does not come with yieldrl, and to go"
            " on would import and run it. If you trust who wrote the file, say so:"
            " --trust on the command line, trust=True in Python"
        )


def _code_in(values: Any) -> Iterator[tuple[str, str]]:
    """The fields in `CODE_FIELDS` that name code, and the names."""
    if isinstance(values, Mapping):
        for key, value in values.items():
            pattern = re.compile(CODE_FIELDS.get(str(key), r"(?!)"), re.DOTALL)
            for text in value if isinstance(value, list | tuple) else [value]:
                if isinstance(text, str) and pattern.fullmatch(text):
                    yield key, text
            yield from _code_in(value)
    elif isinstance(values, list | tuple):
        for value in values:
            yield from _code_in(value)
