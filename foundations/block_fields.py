"""From the blocks of a file to the fields of a config, in whoever's words."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from typing import Any, NamedTuple

from yieldrl.foundations.blocks import BLOCKS, HOMES, home, keys, nearest
from yieldrl.foundations.checked import FieldError, shown
from yieldrl.foundations.words import WORDS, Word

GUESTS = {"collector": ("num_steps", "num_envs", "vectorization")}
"""Block -> fields that are read there too. `trainer`, `algorithm` and, of a model that
is not your own, `policy` take every field."""


class _Given(NamedTuple):
    block: str
    key: str
    value: Any
    word: Word


def to_fields(values: Mapping[str, Any], config_class: type[Any]) -> dict[str, Any]:
    """The fields of a config that stand in the blocks of a file, in our words.

    Raises:
        ValueError: If a block or key is unknown, or two say the same. The message names
            the block, the key and what was probably meant.
    """
    return _translated(_given(values, config_class), config_class)


def in_their_words(
    error: FieldError, values: Mapping[str, Any], config_class: type[Any]
) -> ValueError:
    """The error of a field, with the block and the key that stand in the file."""
    given = _given(values, config_class).get(error.field)
    if given is None:
        return error
    said = f"block {given.block!r}: {given.key} = {shown(given.value)}"
    ours = f", our {error.field} = {error.value}" if given.key != error.field else ""
    return ValueError(f"{said}{ours}: {error.remedy}")


def _given(values: Mapping[str, Any], config_class: type[Any]) -> dict[str, _Given]:
    """Field -> where and how it stands in the blocks."""
    _check_names(values, config_class)
    found: dict[str, _Given] = {}
    known = _fields(config_class)
    for block in BLOCKS[:-1]:
        for key, value in keys(block, values.get(block), known).items():
            word = _word(block, key, config_class)
            _check(block, key, word.ours, config_class)
            if word.ours in found:
                other = found[word.ours]
                raise ValueError(
                    f"{other.key!r} of the block {other.block!r} and {key!r} of the"
                    f" block {block!r} both say {word.ours!r}: leave one out"
                )
            found[word.ours] = _Given(block, key, value, word)
    return found


def _translated(given: Mapping[str, _Given], config_class: type[Any]) -> dict[str, Any]:
    def look(name: str) -> int:
        if name not in _fields(config_class):
            raise ValueError(f"{config_class.__module__} has no {name} to count it in")
        value = given[name].value if name in given else getattr(config_class, name, 0)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"it needs {name}, which is {value!r}")
        return value

    values: dict[str, Any] = {}
    for name, (block, key, value, word) in given.items():
        try:
            values[name] = word.value(value, look)
        except ValueError as reason:
            raise ValueError(f"block {block!r}: {key} = {value!r}: {reason}") from None
    return values


def _fields(config_class: type[Any]) -> set[str]:
    return {entry.name for entry in dataclasses.fields(config_class)}


def _word(block: str, key: Any, config_class: type[Any]) -> Word:
    known = _fields(config_class)
    word = WORDS.get(f"{block}.{key}", WORDS.get(key))
    return Word(key) if key in known or word is None else word


def _check_names(values: Mapping[str, Any], config_class: type[Any]) -> None:
    for name in values:
        if name in BLOCKS:
            continue
        ours = _word("", name, config_class).ours
        if ours in _fields(config_class):
            raise ValueError(
                f"{name!r} stands beside the blocks: it goes into {home(ours)!r}"
            )
        raise ValueError(f"no block is called {name!r}: {nearest(name, BLOCKS)}")


def _check(block: str, key: Any, ours: str, config_class: type[Any]) -> None:
    """Refuse a key that is no field, or not one of this block."""
    fields = _fields(config_class)
    here = {*HOMES.get(block, ()), *GUESTS.get(block, ())} & fields
    here = fields if block in ("trainer", "algorithm", "policy") else here
    if ours in here:
        return
    start = f"block {block!r} has no key {key!r}: "
    if ours in fields:
        raise ValueError(f"{start}it goes into the block {home(ours)!r}")
    if ours in config_class.__dataclass_fields__ or key in WORDS:
        means = "" if ours == key else f"it is our {ours!r}, which means"
        raise ValueError(
            f"{start}{means or 'it means'} nothing to {config_class.__module__},"
            " leave it out"
        )
    theirs = {
        w.rpartition(".")[2]: word.ours
        for w, word in WORDS.items()
        if w.rpartition(".")[0] in ("", block)
    }
    known = here | {word for word, field in theirs.items() if field in here}
    if block == "env" and not difflib.get_close_matches(str(key), sorted(known), n=1):
        raise ValueError(f"{start}arguments of the environment go into 'env_kwargs'")
    raise ValueError(start + nearest(key, known))
