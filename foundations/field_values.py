"""Values of typed fields in files, which have lists where a type may say tuple."""

from __future__ import annotations

import types
import typing
from typing import Any

from yieldrl.foundations.plain import tagged


def written(value: Any, hint: Any) -> Any:
    """A plain value for a file: `read` and `plain` make the same of it again.

    Args:
        value: The value of a field.
        hint: The field's type. Where it tells that a list is a tuple, a list is
            written, elsewhere `{"__tuple__": [...]}`.

    >>> written((64, 64), tuple[int, ...])
    [64, 64]
    >>> written({"size": (3, 4)}, dict[str, Any])
    {'size': {'__tuple__': [3, 4]}}
    """
    lists = _as_lists(value)
    return lists if read(lists, hint) == value else tagged(value)


def read(value: Any, hint: Any) -> Any:
    """The value that JSON or YAML could not write: a tuple, or `3e-4` in YAML."""
    kinds = typing.get_args(hint) if _is_union(hint) else (hint,)
    tuples = [kind for kind in kinds if (typing.get_origin(kind) or kind) is tuple]
    if isinstance(value, list) and tuples:
        return _as_tuple(value, typing.get_args(tuples[0]))
    if isinstance(value, str) and float in kinds and str not in kinds:
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _as_tuple(values: list[Any], kinds: tuple[Any, ...]) -> tuple[Any, ...]:
    if kinds[1:] == (...,):
        kinds = kinds[:1] * len(values)
    if len(kinds) != len(values):
        return tuple(values)
    return tuple(map(read, values, kinds))


def _as_lists(value: Any) -> Any:
    """With lists for its tuples, but for those that lie in mappings."""
    if isinstance(value, list | tuple):
        return [_as_lists(child) for child in value]
    return tagged(value)


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (typing.Union, types.UnionType)
