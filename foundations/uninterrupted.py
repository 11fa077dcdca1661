"""A few lines that Ctrl-C does not cut in two."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def uninterrupted() -> Iterator[None]:
    """A context in which Ctrl-C waits for the end of it.

    For the few assignments that must all be made or none. Outside of the main thread,
    where no signal arrives, there is nothing to do.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    wanted: list[Any] = []
    handler = signal.signal(signal.SIGINT, lambda *call: wanted.append(call))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if wanted and callable(handler):
            handler(*wanted[0])
