"""Verdicts on a result: what was found, what was expected, and where to look."""

from typing import Any

import numpy as np
import torch

Results = list[dict[str, Any]]
"""For each case, the parts of its result by their names."""


class Wrong(Exception):  # noqa: N818 - a verdict, no error of the program
    """A property does not hold: what was found and expected, and a hint where to look,
    or the mistake itself, if it is a known one."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


def expect(holds: bool, message: str, hint: str = "") -> None:
    """Raise `Wrong` unless something holds."""
    if not holds:
        raise Wrong(message, hint)


def expect_close(
    got: Any, want: Any, *, named: str, hint: str = "", tolerance: float = 1e-4
) -> None:
    """Raise `Wrong` with the first wrong index, unless two results are equal.

    >>> expect_close([1.0, 2.0], np.array([1.0, 3.0]), named="value")
    Traceback (most recent call last):
    yieldrl.exercises.comparing.Wrong: value is a list, expected an ndarray
    """
    _expect_same_kind(got, want, named)
    answer, right = _array(got), _array(want)
    equal = np.isclose(answer, right, rtol=tolerance, atol=tolerance, equal_nan=True)
    if equal.all():
        return
    index = tuple(int(i) for i in np.argwhere(~equal)[0])
    place = f"{named}{list(index)}" if index else named
    of = f" ({(~equal).sum()} of {equal.size} are wrong)" if equal.size > 1 else ""
    found = f"{place} is {answer[index]:.5g}, expected {right[index]:.5g}{of}"
    raise Wrong(found, hint)


def difference(got: Results, want: Results, tolerance: float = 1e-4) -> str:
    """What is said of the first result that is not as wanted; empty if all are."""
    for mine, right in zip(got, want, strict=True):
        for name in right:
            try:
                expect_close(mine[name], right[name], named=name, tolerance=tolerance)
            except Wrong as wrong:
                return wrong.message
    return ""


def _expect_same_kind(got: Any, want: Any, named: str) -> None:
    """Type, shape and dtype of the right result; a number may be any number, and
    floating-point numbers may have another precision."""
    expect(got is not None, f"{named} is None", "does the function return its result?")
    if not isinstance(want, torch.Tensor | np.ndarray):
        numbers = float | int | np.number | np.ndarray | torch.Tensor
        number = isinstance(got, numbers) and _array(got).size == 1
        expect(number, f"{named} is {_kind(got)}, expected a number")
        return
    same = isinstance(got, type(want))
    expect(same, f"{named} is {_kind(got)}, expected {_kind(want)}")
    shape, expected = list(got.shape), list(want.shape)
    expect(shape == expected, f"{named} has the shape {shape}, expected {expected}")
    floats = ["float" in str(of.dtype) for of in (got, want)]
    alike = all(floats) or got.dtype == want.dtype
    expect(alike, f"{named} is {got.dtype}, expected {want.dtype}")


def _kind(thing: Any) -> str:
    name = type(thing).__name__
    return f"{'an' if name[0] in 'aeioAEIO' or name == 'ndarray' else 'a'} {name}"


def _array(thing: Any) -> np.ndarray:
    """Numbers as float64; a single one, of whatever shape, as 0-dim."""
    if isinstance(thing, torch.Tensor):
        thing = thing.detach().cpu().numpy()
    array = np.asarray(thing, dtype=np.float64)
    return array.reshape(()) if array.size == 1 else array
