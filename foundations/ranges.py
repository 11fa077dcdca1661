"""Types of config fields, with the range of allowed values.

`gamma: UnitInterval = 0.99` is a float from 0 to 1; the base of every config checks it.
"""

import inspect
import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Any, get_args, get_origin

MAX_NUMBER = 1e18  # default maximum of fields: its square fits float32
MAX_STEPS = 10**12  # of a run, and of intervals such as `eval_every`
MAX_TRANSITIONS = 2**31 - 1  # in a buffer
MAX_WIDTH = 2**16  # of a layer of an MLP
MAX_LAYERS = 64  # hidden layers of an MLP
MAX_WEIGHTS = 2**26
"""Most weights between the hidden layers of an MLP: 256 MiB in float32, with gradients,
Adam's moments and targets of three networks 4 GiB in all."""


class Constraint:
    """A condition on values in addition to the type: `Annotated[int, Range(1)]`."""

    def remedy(self, value: Any) -> str | None:
        """The remedy for a value that breaks the constraint; None if it holds."""
        raise NotImplementedError


@dataclass(frozen=True)
class Range(Constraint):
    """Numbers in `[low, high]`, or `(low, high]` with `above`."""

    low: float
    high: float = MAX_NUMBER
    above: bool = False

    def remedy(self, value: Any) -> str | None:
        if not isinstance(value, int | float):
            return None
        enough = value > self.low if self.above else value >= self.low
        if enough and value <= self.high:  # False for NaN
            return None
        least = f"above {self.low}" if self.above else f"at least {self.low}"
        return f"choose a number {least} and at most {self.high}"


class LayerWidths(Constraint):
    """Widths of hidden layers: at least 1, and small enough for a machine's memory."""

    def remedy(self, value: Any) -> str | None:
        if any(isinstance(width, bool) or width < 1 for width in value):
            return "every width must be at least 1"
        if max(value, default=1) > MAX_WIDTH:
            return f"every width must be at most {MAX_WIDTH}"
        if len(value) > MAX_LAYERS:
            return f"choose at most {MAX_LAYERS} layers"
        weights = sum(inputs * outputs for inputs, outputs in pairwise(value))
        if weights > MAX_WEIGHTS:
            return (
                f"the weights between these layers take {4 * weights:,} bytes, and"
                " several times that in training: choose widths whose weights take at"
                f" most {4 * MAX_WEIGHTS:,} bytes"
            )
        return None


Count = Annotated[int, Range(1, 2**20)]
Steps = Annotated[int, Range(1, MAX_STEPS)]
StepsOrZero = Annotated[int, Range(0, MAX_STEPS)]
BatchSize = Annotated[int, Range(1, 2**17)]
Positive = Annotated[float, Range(0, above=True)]
NonNegative = Annotated[float, Range(0)]
UnitInterval = Annotated[float, Range(0, 1)]
LearningRate = Annotated[float, Range(0, 1_000, above=True)]
Coefficient = Annotated[float, Range(0, 1e6)]
LogStd = Annotated[float, Range(-20, 20)]
Widths = Annotated[tuple[int, ...], LayerWidths()]


@lru_cache(maxsize=256)
def constrained_fields(cls: type[Any]) -> dict[str, Any]:
    """Field -> its type with constraints, inherited if a child repeats it without."""
    found: dict[str, Any] = {}
    for base in cls.__mro__:
        for name, hint in inspect.get_annotations(base, eval_str=True).items():
            if name not in found and _has_constraint(hint):
                found[name] = hint
    return found


def remedies(value: Any, hint: Any) -> Iterator[str]:
    """Remedies for all constraints of a type that a value breaks."""
    kinds, origin = get_args(hint), get_origin(hint)
    if origin is Annotated:
        own = [each for each in hint.__metadata__ if isinstance(each, Constraint)]
        yield from filter(None, [each.remedy(value) for each in own])
        yield from remedies(value, kinds[0])
    elif origin in (typing.Union, types.UnionType):
        for kind in kinds:
            yield from remedies(value, kind)
    elif origin in (list, tuple) and isinstance(value, origin):
        alike = origin is list or kinds[1:] == (...,)
        children = kinds[:1] * len(value) if alike else kinds
        for child, kind in zip(value, children, strict=True):
            yield from remedies(child, kind)


def _has_constraint(hint: Any) -> bool:
    own = getattr(hint, "__metadata__", ())
    return any(isinstance(each, Constraint) for each in own) or any(
        map(_has_constraint, get_args(hint))
    )
