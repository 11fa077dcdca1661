"""Checks of loggers' arguments, so that errors come at construction."""

import functools
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


def number(name: str, value: Any, low: float = -math.inf, kind: Any = Real) -> None:
    """Raise an error unless the value is a finite number of `kind`, at least `low`."""
    right_kind = isinstance(value, kind) and not isinstance(value, bool)
    if right_kind and value >= low and abs(value) < math.inf:
        return
    sort = "whole" if kind is Integral else "finite"
    least = "" if low == -math.inf else f", at least {low}"
    error = ValueError if right_kind else TypeError
    raise error(f"{name} = {value!r}: give a {sort} number{least} ({_HINT})")


whole = functools.partial(number, kind=Integral)


def choice(name: str, value: Any, known: tuple[str, ...]) -> None:
    """Raise an error unless the value is one of the `known` words."""
    if value not in known:
        raise ValueError(f"{name} = {value!r}: choose one of {list(known)} ({_HINT})")


def text(name: str, value: Any) -> None:
    """Raise an error unless the value is a non-empty string."""
    if not isinstance(value, str) or not value:
        error = ValueError if isinstance(value, str) else TypeError
        raise error(f"{name} = {value!r}: give a name ({_HINT})")


def package(module: str, extra: str) -> None:
    """Raise ImportError if an optional package is missing; does not import it."""
    spec = importlib.util.find_spec(module)
    # A folder of the same name (wandb makes one) is found too, without an origin.
    if spec is None or spec.origin is None:
        raise ImportError(
            f"{module} is not installed: pip install 'yieldrl[{extra}]'", name=module
        )
