"""Types of config fields with their ranges, which pydantic checks.

`gamma: UnitInterval = 0.99` is a float from 0 to 1. A child class that gives the field
another default, `gamma: float = 0.9`, keeps its range.
"""

import math
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field

MAX_NUMBER = 1e18  # default maximum of numbers: its square fits float32
MAX_STEPS = 10**12  # of a run, and of intervals such as `eval_every`
MAX_TRANSITIONS = 2**31 - 1  # in a buffer
MAX_WIDTH = 2**16  # of a layer


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
Width = Annotated[int, Field(ge=1, le=MAX_WIDTH)]
Widths = Annotated[tuple[Width, ...], Field(max_length=64)]
Plain = Annotated[dict[str, Any], AfterValidator(as_json)]
"""Names with None, bools, numbers, text, and lists and mappings of them, which files
hold; tuples become lists."""
