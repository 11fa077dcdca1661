"""Delay KeyboardInterrupt until the end of a block."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def defer_keyboard_interrupt(*, once: bool = False) -> Iterator[None]:
    """Delays Ctrl-C to the end of the block, so that it makes all assignments.

    With `once`, for long blocks, a second Ctrl-C takes effect at once.
    """
    handler: Any = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    if not (in_main and callable(handler)):  # SIG_IGN and SIG_DFL are not callable
        yield
        return
    calls: list[Any] = []

    def wait(*call: Any) -> None:
        if once and calls:
            handler(*call)
        calls.append(call)

    signal.signal(signal.SIGINT, wait)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if calls:
            handler(*calls[0])
