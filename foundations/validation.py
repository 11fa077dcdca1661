"""Checks of a config's values: types, ranges, and sizes that machines can hold."""

import dataclasses
import functools
import math
import operator
import os
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import typeguard

from yieldrl.foundations.files import wrong_path
from yieldrl.foundations.plain import NotPlainError, plain
from yieldrl.foundations.ranges import MAX_NUMBER, Range, constrained_fields, remedies

_ALL = typeguard.CollectionCheckStrategy.ALL_ITEMS  # not the first alone


def most_threads() -> int:
    """Most threads to ask for, also on smaller machines that read the config."""
    return max(256, 4 * (os.cpu_count() or 1))


class FieldError(ValueError):
    """A value that its field does not take: its name, value as text, and the remedy."""

    def __init__(self, owner: str, field: str, value: str, remedy: str) -> None:
        super().__init__(f"{owner}.{field} = {value}: {remedy}")
        self.field, self.value, self.remedy = field, value, remedy


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A frozen dataclass that refuses values of a wrong type or out of range.

    Subclasses call `_check_fields` in `__post_init__`.
    """

    def error(self, name: str, remedy: str) -> FieldError:
        """The error that says which field has which value, and what to do."""
        value = truncated_repr(getattr(self, name))
        return FieldError(type(self).__qualname__, name, value, remedy)

    def _check_fields(self) -> None:
        """Make every value plain, so that files give it back equal, and check it.

        Its type, that numbers are finite, and the constraints of `foundations.ranges`.
        """
        hints, constrained = plain_hints(type(self)), constrained_fields(type(self))
        names = [entry.name for entry in dataclasses.fields(self)]
        for name in names:
            self._check_type(name, hints[name])
        for name in names:
            for remedy in remedies(getattr(self, name), constrained.get(name)):
                raise self.error(name, remedy)

    _check_types = _check_fields  # its name in folders that were copied before

    def _check_type(self, name: str, hint: Any) -> None:
        given = getattr(self, name)
        if isinstance(given, float | np.floating) and not math.isfinite(given):
            raise self.error(name, "choose a finite number")
        try:
            value = plain(given)
            if type(value) is not hint:  # most are what they should be
                typeguard.check_type(value, hint, collection_check_strategy=_ALL)
        except (NotPlainError, typeguard.TypeCheckError) as reason:
            raise self.error(name, f"wrong type: {reason}") from None
        kinds = {hint, *typing.get_args(hint)}
        if isinstance(value, bool) and kinds & {int, float} and bool not in kinds:
            raise self.error(name, f"wrong type: it must be {hint}")
        object.__setattr__(self, name, value)  # of a frozen dataclass

    def _check_range(
        self, name: str, low: float, high: float = MAX_NUMBER, *, above: bool = False
    ) -> None:
        """Refuse a number outside `[low, high]`, or `(low, high]` with `above`."""
        if (remedy := Range(low, high, above).remedy(getattr(self, name))) is not None:
            raise self.error(name, remedy)

    def _check_folder(self, name: str) -> None:
        """Refuse a path that no file system can hold."""
        if (wrong := wrong_path(getattr(self, name))) is not None:
            raise self.error(name, wrong)


@functools.lru_cache(maxsize=256)
def plain_hints(cls: type[Any]) -> dict[str, Any]:
    """Field -> its type without constraints, where unions read as `float | None`."""
    hints = typing.get_type_hints(cls)
    for name, hint in hints.items():
        if typing.get_origin(hint) is typing.Union:
            hints[name] = functools.reduce(operator.or_, typing.get_args(hint))
    return hints


def truncated_repr(value: Any) -> str:
    """`repr` of a value, cut short where it would fill the screen."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of more digits than Python prints
        return f"a {type(value).__name__} of more than 4 000 digits"
    except Exception:  # of somebody's own class, which cannot say what it is
        return f"a {type(value).__name__}"
    return text if len(text) <= 200 else f"{text[:200]}..."


def listed(names: Sequence[str]) -> str:
    """The first three names, and how many more there are.

    >>> listed(["a", "b", "c", "d"])
    'a, b, c and 1 more'
    """
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
