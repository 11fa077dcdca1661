"""Types that a checkpoint may hold: all are read back without running any code.

These are the types that PyTorch reads with `weights_only=True`, and NumPy's numbers,
text and arrays of them.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
from torch.serialization import get_unsafe_globals_in_checkpoint, safe_globals

from yieldrl.foundations.plain import MAX_DIGITS

_PLAIN = (type(None), bool, int, float, str, list, tuple, set, dict)
_KINDS = "biufcSU"  # NumPy's kinds of numbers and of text
_DTYPES = [np.dtype(c) for c in np.typecodes["All"] if np.dtype(c).kind in _KINDS]


# The functions that unpickle NumPy's values, from NumPy itself, as their module was
# called `core` before 2.0.
_SCALAR, _ARRAY = np.float64(0).__reduce__()[0], np.empty(0).__reduce__()[0]
_MAKERS = [
    (maker, f"numpy.{core}.multiarray.{name}")
    for maker, name in ((_SCALAR, "scalar"), (_ARRAY, "_reconstruct"))
    for core in ("core", "_core")
]
_SAFE: list[Any] = [*_MAKERS, np.ndarray, np.dtype, *map(type, _DTYPES)]


def also_numpy() -> AbstractContextManager[Any]:
    """Within it, `torch.load` with `weights_only=True` reads NumPy's values too."""
    return safe_globals(_SAFE)


def unreadable(file: Any) -> list[str]:
    """Names of the classes and functions in a checkpoint that are refused.

    Reading them could run code; those passed to `add_safe_globals` are read.
    """
    try:
        with also_numpy():
            return sorted(set(get_unsafe_globals_in_checkpoint(file)))
    except Exception:  # damaged; the reader raises an error
        return []


def refuse_unreadable(state: Mapping[str, Any], written: Path, path: Path) -> None:
    """TypeError, which names the entry, if a written state could not be read back."""
    names = unreadable(written)
    for where, value in _entries(state, ""):
        kind = type(value)
        name = f"{kind.__module__}.{kind.__qualname__}"
        if (name in names and kind not in _PLAIN) or _is_odd(value):
            raise TypeError(f"{path}: state{where} is a {name}{_REMEDY}")
    if names:
        raise TypeError(f"{path}: its state needs {', '.join(names)}{_REMEDY}")


_REMEDY = (
    ", which no checkpoint can be read back with, because reading it could run code."
    " Let `state_dict` return tensors, numbers, text, and lists and dicts of them, or"
    " name the class to torch.serialization.add_safe_globals in every program that"
    " saves or loads"
)


def _entries(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    yield where, value
    if isinstance(value, Mapping):
        for key, child in value.items():
            yield from _entries(child, f"{where}[{key!r}]")
    elif isinstance(value, list | tuple | set):
        for number, child in enumerate(value):
            yield from _entries(child, f"{where}[{number}]")


def _is_odd(value: Any) -> bool:
    """Whether a value cannot be read although its class can."""
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.kind not in _KINDS
    return isinstance(value, int) and abs(value) >= 10**MAX_DIGITS
