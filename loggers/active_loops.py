"""Active training loops: one per trainer, all closed when Python exits."""

import atexit
import inspect
import weakref
from collections.abc import Callable, Generator
from typing import Any

Loop = Generator[Any, None, None]

_loops: weakref.WeakKeyDictionary[Any, weakref.ref[Loop]] = weakref.WeakKeyDictionary()
"""Trainer -> the outermost generator of its loop, until it is collected."""


def start_loop(trainer: Any, start: Callable[[], Loop]) -> Loop:
    """Start a loop; close the trainer's suspended loop and its files first."""
    if not close_loop(trainer):
        return start()  # inside the active loop, by `super().__call__()`
    logs = start()
    _loops[trainer] = weakref.ref(logs)
    return logs


def close_loop(trainer: Any) -> bool:
    """Close the trainer's suspended loop, if any; False if it is running."""
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
    """Close suspended loops at exit, before the libraries that they need shut down."""
    atexit.unregister(_close_all_loops)
    atexit.register(_close_all_loops)


close_first_at_exit()
