"""Delay KeyboardInterrupt until the end of a block."""

import signal
import threading
from typing import Any


class defer_keyboard_interrupt:  # noqa: N801 - it is used like contextlib's
    """Delays Ctrl-C to the end of the block, so that it makes all assignments.

    With `once`, for long blocks, a second Ctrl-C takes effect at once.
    """

    __slots__ = ("_calls", "_handler", "_once")

    def __init__(self, *, once: bool = False) -> None:
        self._once = once

    def __enter__(self) -> None:
        self._calls: list[Any] = []
        self._handler: Any = None
        if threading.current_thread() is not threading.main_thread():
            return
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler):  # SIG_IGN and SIG_DFL are not callable
            self._handler = handler
            signal.signal(signal.SIGINT, self._wait)

    def _wait(self, *call: Any) -> None:
        if self._once and self._calls:
            self._handler(*call)
        self._calls.append(call)

    def __exit__(self, *_: object) -> None:
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)
            if self._calls:
                self._handler(*self._calls[0])
