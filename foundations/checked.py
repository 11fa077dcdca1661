"""Checks of a config's values: types, ranges, and sizes that machines can hold."""

from __future__ import annotations

import dataclasses
import math
import os
import typing
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import typeguard

from yieldrl.foundations.folders import wrong_path
from yieldrl.foundations.plain import NotPlainError, plain

LARGEST = 1e18
"""Largest number unless a field says less: its square still fits float32."""

MOST_STEPS = 10**12
"""Most steps, and most steps between two events, that a run can be asked for."""

MOST_TRANSITIONS = 2**31 - 1
"""Most transitions that a buffer can be asked to hold."""

MOST_WIDTH = 2**16
"""Widest layer of an MLP."""

MOST_LAYERS = 64
"""Most hidden layers of an MLP."""

MOST_WEIGHTS = 2**26
"""Most weights between the hidden layers of an MLP, 256 MiB in float32.

Training needs them again as gradient and twice as Adam's moments, target networks hold
a copy, and there are up to three such networks: 4 GiB in all.
"""

_ALL = typeguard.CollectionCheckStrategy.ALL_ITEMS  # not the first alone


def most_threads() -> int:
    """Most threads to ask for: four a core, and 256 on any machine.

    A config also has to load on a smaller machine than the one that it was made on.
    """
    return max(256, 4 * (os.cpu_count() or 1))


class FieldError(ValueError):
    """A value that its field does not take.

    Attributes:
        field: Name of the field.
        value: What was got, as text.
        remedy: What is wrong with it, and what to do.
    """

    def __init__(self, owner: str, field: str, value: str, remedy: str) -> None:
        super().__init__(f"{owner}.{field} = {value}: {remedy}")
        self.field, self.value, self.remedy = field, value, remedy


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A frozen dataclass that refuses values of a wrong type or out of range.

    Subclasses call the checks in `__post_init__`. Every error names the field, the
    value that was got and the remedy.
    """

    def error(self, name: str, remedy: str) -> FieldError:
        """The error that says which field has which value, and what to do."""
        value = shown(getattr(self, name))
        return FieldError(type(self).__qualname__, name, value, remedy)

    def _check_types(self) -> None:
        """Make every value plain, so that files give it back equal.

        Refuse values of a wrong type, numbers that are not finite, and what no file can
        hold.
        """
        hints = typing.get_type_hints(type(self))
        for entry in dataclasses.fields(self):
            self._check_type(entry.name, hints[entry.name])

    def _check_type(self, name: str, hint: Any) -> None:
        given = getattr(self, name)
        if isinstance(given, float | np.floating) and not math.isfinite(given):
            raise self.error(name, "choose a finite number")
        try:
            value = plain(given)
            typeguard.check_type(value, hint, collection_check_strategy=_ALL)
        except NotPlainError as reason:
            raise self.error(name, f"wrong type: {reason}") from None
        except typeguard.TypeCheckError as reason:
            raise self.error(name, f"wrong type: {reason}") from None
        kinds = {hint, *typing.get_args(hint)}
        if isinstance(value, bool) and kinds & {int, float} and bool not in kinds:
            raise self.error(name, f"wrong type: it must be {hint}")
        object.__setattr__(self, name, value)  # of a frozen dataclass

    def _check_range(
        self, name: str, low: float, high: float = LARGEST, *, above: bool = False
    ) -> None:
        """Refuse a number outside `[low, high]`, or `(low, high]` with `above`.

        A field that may be None and is None is in range.
        """
        value = getattr(self, name)
        # Written so that NaN, which compares false with everything, is refused.
        if value is None or (
            (value > low if above else value >= low) and value <= high
        ):
            return
        least = f"above {low}" if above else f"at least {low}"
        raise self.error(name, f"choose a number {least} and at most {high}")

    def _check_widths(self, name: str) -> None:
        """Refuse hidden layers without units, or too large for any machine."""
        widths: tuple[int, ...] = getattr(self, name)
        if any(isinstance(width, bool) or width < 1 for width in widths):
            raise self.error(name, "every width must be at least 1")
        if max(widths, default=1) > MOST_WIDTH:
            raise self.error(name, f"every width must be at most {MOST_WIDTH}")
        if len(widths) > MOST_LAYERS:
            raise self.error(name, f"choose at most {MOST_LAYERS} layers")
        weights = sum(inputs * outputs for inputs, outputs in pairwise(widths))
        if weights > MOST_WEIGHTS:
            raise self.error(
                name,
                f"the weights between these layers take {4 * weights:,} bytes, and"
                f" several times that in training: choose widths whose weights take at"
                f" most {4 * MOST_WEIGHTS:,} bytes",
            )

    def _check_folder(self, name: str) -> None:
        """Refuse a path that no file system can hold."""
        if (wrong := wrong_path(getattr(self, name))) is not None:
            raise self.error(name, wrong)


def shown(value: Any) -> str:
    """What was got, cut short where it would fill the screen."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of more digits than Python prints
        return f"a {type(value).__name__} of more than 4 000 digits"
    except Exception:  # of somebody's own class, which cannot say what it is
        return f"a {type(value).__name__}"
    return text if len(text) <= 200 else f"{text[:200]}..."
