"""Checks of what loggers are given: errors come at once, not after an hour."""

from __future__ import annotations

import importlib.util
import math
import os
from numbers import Integral, Real
from pathlib import Path
from typing import Any

_HINT = "a logger is called before it decorates: loggers.csv()(trainer)"


def path(name: str, value: Any) -> Path | None:
    """An absolute path, so that a later `chdir` does not move it; None for None."""
    if value is None:
        return None
    if isinstance(value, str | os.PathLike):
        return Path(value).absolute()
    raise TypeError(f"{name} = {value!r}: give a path or None ({_HINT})")


def whole(name: str, value: Any, low: int) -> None:
    """Refuse everything but a whole number from `low` on."""
    if (
        isinstance(value, Integral)
        and not isinstance(value, bool)
        and int(value) >= low
    ):
        return
    raise _error(value, Integral)(
        f"{name} = {value!r}: give a whole number, at least {low} ({_HINT})"
    )


def number(name: str, value: Any, low: float = -math.inf) -> None:
    """Refuse everything but a finite number from `low` on."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if is_number and math.isfinite(value) and float(value) >= low:
        return
    least = "" if low == -math.inf else f", at least {low}"
    raise _error(value, Real)(
        f"{name} = {value!r}: give a finite number{least} ({_HINT})"
    )


def choice(name: str, value: Any, known: tuple[str, ...]) -> None:
    """Refuse everything but one of the known words."""
    if value not in known:
        raise ValueError(f"{name} = {value!r}: choose one of {list(known)} ({_HINT})")


def text(name: str, value: Any) -> None:
    """Refuse everything but a string that says something."""
    if not isinstance(value, str) or not value:
        kind = ValueError if isinstance(value, str) else TypeError
        raise kind(f"{name} = {value!r}: give a name ({_HINT})")


def package(module: str, extra: str) -> None:
    """Refuse to go on without an optional package; does not import it."""
    spec = importlib.util.find_spec(module)
    # A folder of that name (wandb makes one) is found too, but has no origin.
    if spec is None or spec.origin is None:
        raise ImportError(
            f"{module} is not installed: pip install 'yieldrl[{extra}]'", name=module
        )


def _error(value: Any, kind: Any) -> type[Exception]:
    right_type = isinstance(value, kind) and not isinstance(value, bool)
    return ValueError if right_type else TypeError
