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

_ALL = typeguard.CollectionCheckStrategy.ALL_ITEMS  # not only the first item


def most_threads() -> int:
    """The maximum of `threads`, the same on machines with fewer cores."""
    return max(256, 4 * (os.cpu_count() or 1))


class FieldError(ValueError):
    """An invalid value of a field: its name, the value as text, and the remedy."""

    def __init__(self, owner: str, field: str, value: str, remedy: str) -> None:
        super().__init__(f"{owner}.{field} = {value}: {remedy}")
        self.field, self.value, self.remedy = field, value, remedy


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A frozen dataclass that rejects values of a wrong type or out of range.

    Subclasses call `_check_fields` in `__post_init__`.
    """

    def error(self, name: str, remedy: str) -> FieldError:
        """An error with the name of the field, its value and the remedy."""
        value = truncated_repr(getattr(self, name))
        return FieldError(type(self).__qualname__, name, value, remedy)

    def _check_fields(self) -> None:
        """Convert values to plain ones, which files give back equal, and check them.

        Checks types, finiteness, and the constraints of `foundations.ranges`.
        """
        hints, constrained = plain_hints(type(self)), constrained_fields(type(self))
        names = [entry.name for entry in dataclasses.fields(self)]
        for name in names:
            self._check_type(name, hints[name])
        for name in names:
            for remedy in remedies(getattr(self, name), constrained.get(name)):
                raise self.error(name, remedy)

    _check_types = _check_fields  # old name, for copied algorithm folders

    def _check_type(self, name: str, hint: Any) -> None:
        given = getattr(self, name)
        if isinstance(given, float | np.floating) and not math.isfinite(given):
            raise self.error(name, "choose a finite number")
        try:
            value = plain(given)
            if type(value) is not hint:  # fast path: usually the type is right
                typeguard.check_type(value, hint, collection_check_strategy=_ALL)
        except (NotPlainError, typeguard.TypeCheckError) as reason:
            raise self.error(name, f"wrong type: {reason}") from None
        kinds = {hint, *typing.get_args(hint)}
        if isinstance(value, bool) and kinds & {int, float} and bool not in kinds:
            raise self.error(name, f"wrong type: it must be {hint}")
        object.__setattr__(self, name, value)  # the dataclass is frozen

    def _check_range(
        self, name: str, low: float, high: float = MAX_NUMBER, *, above: bool = False
    ) -> None:
        """FieldError for a number outside `[low, high]`, `(low, high]` if `above`."""
        if (remedy := Range(low, high, above).remedy(getattr(self, name))) is not None:
            raise self.error(name, remedy)

    def _check_folder(self, name: str) -> None:
        """Raise FieldError for a path that is invalid on any file system."""
        if (wrong := wrong_path(getattr(self, name))) is not None:
            raise self.error(name, wrong)


@functools.lru_cache(maxsize=256)
def plain_hints(cls: type[Any]) -> dict[str, Any]:
    """Field -> its type without constraints; unions as `float | None`."""
    hints = typing.get_type_hints(cls)
    for name, hint in hints.items():
        if typing.get_origin(hint) is typing.Union:
            hints[name] = functools.reduce(operator.or_, typing.get_args(hint))
    return hints


def truncated_repr(value: Any) -> str:
    """`repr` of a value, truncated if long."""
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python prints
        return f"a {type(value).__name__} of more than 4 000 digits"
    except Exception:  # a user's class with a broken `__repr__`
        return f"a {type(value).__name__}"
    return text if len(text) <= 200 else f"{text[:200]}..."


def listed(names: Sequence[str]) -> str:
    """The first three names, and how many more there are.

    >>> listed(["a", "b", "c", "d"])
    'a, b, c and 1 more'
    """
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
