"""Plain values, which every file format can hold: conversion, reading and writing.

JSON, YAML, TOML and checkpoints share None, bool, int, float, str, lists, and mappings
whose keys are text. Tuples and other keys have a mapping of one key in their place:
`{"__tuple__": [3, 4]}` and `{"__mapping__": [[0, "left"]]}`.
"""

import math
import os
import types
import typing
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
from typing import Any

import numpy as np

TUPLE, MAPPING = "__tuple__", "__mapping__"

MAX_DIGITS = 600  # of an integer: PyTorch cannot load longer ones from checkpoints
_DEEPEST = 32  # limit of nesting; a list that contains itself is endless


class NotPlainError(ValueError):
    """A value that no file can hold; the message says which, and what to do."""


def plain(value: Any, where: str = "", depth: int = 0) -> Any:
    """A copy as plain values, which files give back equal; also reverses `tagged`.

    NumPy's numbers and text become Python's, enumeration members that are numbers or
    text lose their class, and paths become text. Other values raise NotPlainError,
    which names the place, `where`, for example `['size'][0]`.

    >>> plain({"rate": np.float64(0.5), "size": (np.int64(3), 4)})
    {'rate': 0.5, 'size': (3, 4)}
    """
    if depth > _DEEPEST:
        raise NotPlainError(f"it is nested more than {_DEEPEST} times: nest it less")
    if isinstance(value, Mapping):
        return _mapping(value, where, depth)
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        items = [plain(x, f"{where}[{i}]", depth + 1) for i, x in enumerate(value)]
        return tuple(items) if isinstance(value, tuple) else items
    return _scalar(value, where)


def tagged(value: Any) -> Any:
    """Plain values for JSON; what JSON lacks becomes a mapping of one key.

    >>> tagged({"size": (3, 4), "names": {0: "left"}})
    {'size': {'__tuple__': [3, 4]}, 'names': {'__mapping__': [[0, 'left']]}}
    """
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: tagged(child) for key, child in value.items()}
        return {MAPPING: [[tagged(key), tagged(value[key])] for key in value]}
    if isinstance(value, tuple):
        return {TUPLE: [tagged(child) for child in value]}
    return [tagged(child) for child in value] if isinstance(value, list) else value


def written(value: Any, hint: Any) -> Any:
    """A plain value for a file; `read` and `plain` restore it.

    A tuple is written as a list if the field's type, `hint`, says that it is a tuple,
    otherwise as `{"__tuple__": [...]}`.

    >>> written((64, 64), tuple[int, ...])
    [64, 64]
    """
    lists = _as_lists(value)
    return lists if read(lists, hint) == value else tagged(value)


def read(value: Any, hint: Any) -> Any:
    """Restore a value that JSON or YAML cannot write: a tuple, or `3e-4` in YAML."""
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    kinds = typing.get_args(hint) if union else (hint,)
    tuples = [kind for kind in kinds if (typing.get_origin(kind) or kind) is tuple]
    if isinstance(value, list) and tuples:
        items = typing.get_args(tuples[0])
        items = items[:1] * len(value) if items[1:] == (...,) else items
        return tuple(map(read, value, items) if len(items) == len(value) else value)
    if isinstance(value, str) and float in kinds and str not in kinds:
        with suppress(ValueError):
            return float(value)
    return value


def _mapping(value: Mapping[Any, Any], where: str, depth: int) -> Any:
    pairs = list(value.items())
    if [*value] == [MAPPING] and isinstance(value[MAPPING], list):
        pairs = value[MAPPING]
    found: dict[Any, Any] = {}
    try:
        for key, child in pairs:
            name = plain(key, where, depth + 1)
            found[name] = plain(child, f"{where}[{name!r}]", depth + 1)
    except NotPlainError:
        raise
    except (TypeError, ValueError):  # not pairs, or an unhashable key
        raise NotPlainError(
            f"{MAPPING}{_at(where)} takes pairs of a key and a value, [[0, 'left']]"
        ) from None
    if [*found] == [TUPLE] and isinstance(found[TUPLE], list):
        return tuple(found[TUPLE])
    return found


def _scalar(value: Any, where: str) -> Any:
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    if isinstance(value, int | np.integer) and not isinstance(value, np.timedelta64):
        if abs(int(value)) >= 10**MAX_DIGITS:
            raise NotPlainError(
                f"the whole number{_at(where)} has more than {MAX_DIGITS} digits:"
                " choose a smaller one"
            )
        return int(value)
    if isinstance(value, float | np.floating):
        if math.isnan(value):
            raise NotPlainError(
                f"NaN{_at(where)} equals nothing, not even what is read back of it:"
                " choose a number"
            )
        return float(value)
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if not isinstance(value, str):
        raise NotPlainError(_remedy(value, where))
    try:
        return value.encode().decode()  # removes the class of an enumeration
    except UnicodeEncodeError:
        raise NotPlainError(f"give text of valid Unicode{_at(where)}") from None


def _remedy(value: Any, where: str) -> str:
    kind = type(value)
    remedy = (
        "Give None, bools, numbers, text, and lists, tuples and mappings of them. An"
        " environment that takes other objects is passed to the trainer as a function:"
        " envs=lambda: MyEnv(...)"
    )
    if isinstance(value, Enum):
        remedy = f"Give its value, {value.value!r}, or its name, {value.name!r}"
    elif hasattr(value, "tolist"):  # NumPy array or tensor
        remedy = "Give numbers or lists, as its tolist() does"
    return (
        f"no file can hold the {kind.__module__}.{kind.__qualname__}{_at(where)}, and a"
        f" run goes on from files. {remedy}"
    )


def _at(where: str) -> str:
    return f" at {where}" if where else ""


def _as_lists(value: Any) -> Any:
    """A value with lists in place of tuples, except inside mappings."""
    if isinstance(value, list | tuple):
        return [_as_lists(child) for child in value]
    return tagged(value)
