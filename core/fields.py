"""Types of config fields with their ranges, which pydantic checks.

`gamma: UnitInterval = 0.99` is a float from 0 to 1. A child class that gives the field
another default, `gamma: float = 0.9`, keeps its range.
"""

import math
import os
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field

MAX_NUMBER = 1e18  # default maximum of numbers: its square fits float32
MAX_STEPS = 10**12  # of a run, and of intervals such as `eval_every`
MAX_TRANSITIONS = 2**31 - 1  # in a buffer
MAX_WIDTH = 2**16  # of a layer of an MLP
MAX_LAYERS = 64  # hidden layers of an MLP
MAX_WEIGHTS = 2**26
"""Most weights between the hidden layers of an MLP: 256 MiB in float32, with gradients,
Adam's moments and targets of three networks 4 GiB in all."""


def check_widths(widths: tuple[int, ...]) -> tuple[int, ...]:
    """Refuse widths of hidden layers that are too small, or too large for a machine."""
    if any(not 1 <= width <= MAX_WIDTH for width in widths):
        raise ValueError(f"every width must be from 1 to {MAX_WIDTH}")
    if len(widths) > MAX_LAYERS:
        raise ValueError(f"choose at most {MAX_LAYERS} layers")
    weights = sum(inputs * outputs for inputs, outputs in pairwise(widths))
    if weights > MAX_WEIGHTS:
        raise ValueError(
            f"the weights between these layers take {4 * weights:,} bytes, and several"
            " times that in training: choose widths whose weights take at most"
            f" {4 * MAX_WEIGHTS:,} bytes"
        )
    return widths


def as_json(value: Any) -> Any:
    """The value as JSON can hold it: lists for tuples, Python's numbers for NumPy's.

    ValueError for other objects, and for NaN, which equals nothing.

    >>> as_json({"size": (3, 4)})
    {'size': [3, 4]}
    """
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: as_json(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(child) for child in value]
    if isinstance(value, np.generic):
        value = value.item()
    is_nan = isinstance(value, float) and math.isnan(value)
    if value is None or (isinstance(value, bool | int | float | str) and not is_nan):
        return value
    raise ValueError(
        f"{value!r} is nothing that a file holds, and a run goes on from files: give"
        " None, bools, numbers, text, and lists and mappings of them. An environment"
        " that takes other objects is passed as a function: envs=lambda: MyEnv(...)"
    )


def _not_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("it must be a number")
    return value


NoBool = BeforeValidator(_not_bool)
Count = Annotated[int, Field(ge=1, le=2**20), NoBool]
Steps = Annotated[int, Field(ge=1, le=MAX_STEPS), NoBool]
StepsOrZero = Annotated[int, Field(ge=0, le=MAX_STEPS), NoBool]
BatchSize = Annotated[int, Field(ge=1, le=2**17)]
Positive = Annotated[float, Field(gt=0, le=MAX_NUMBER)]
NonNegative = Annotated[float, Field(ge=0, le=MAX_NUMBER)]
UnitInterval = Annotated[float, Field(ge=0, le=1)]
LearningRate = Annotated[float, Field(gt=0, le=1_000)]
Coefficient = Annotated[float, Field(ge=0, le=1e6)]
LogStd = Annotated[float, Field(ge=-20, le=20)]
Widths = Annotated[tuple[int, ...], AfterValidator(check_widths)]
Plain = Annotated[dict[str, Any], AfterValidator(as_json)]
"""Names with None, bools, numbers, text, and lists and mappings of them, which files
hold; tuples become lists."""


def most_threads() -> int:
    """The maximum of `threads`, the same on machines with fewer cores."""
    return max(256, 4 * (os.cpu_count() or 1))
