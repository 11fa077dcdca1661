"""Loops under way: one for each trainer, all closed when Python exits."""

import atexit
import inspect
import weakref
from collections.abc import Callable, Generator
from typing import Any

Loop = Generator[Any, None, None]

_loops: weakref.WeakKeyDictionary[Any, weakref.ref[Loop]] = weakref.WeakKeyDictionary()
"""Trainer -> the outermost generator of its loop, as long as that lives."""


def start_loop(trainer: Any, start: Callable[[], Loop]) -> Loop:
    """Start a loop; one that was left suspended is closed first, with its files."""
    if not close_loop(trainer):
        return start()  # an inner part of the loop under way, by `super().__call__()`
    logs = start()
    _loops[trainer] = weakref.ref(logs)
    return logs


def close_loop(trainer: Any) -> bool:
    """Close the loop that is left suspended, if any; False if it is under way."""
    if (reference := _loops.get(trainer)) is None or (logs := reference()) is None:
        return True
    if inspect.getgeneratorstate(logs) == inspect.GEN_RUNNING:
        return False
    logs.close()
    return True


def _close_all_loops() -> None:
    for trainer in list(_loops):
        close_loop(trainer)


def close_first_at_exit() -> None:
    """At exit, close suspended loops before anything that they need is taken down."""
    atexit.unregister(_close_all_loops)
    atexit.register(_close_all_loops)


close_first_at_exit()
