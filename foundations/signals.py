"""Delay KeyboardInterrupt until the end of a block."""

# `signal` takes ten times as long, to look for members of enumerations.
import _signal  # pyright: ignore[reportMissingImports]
import threading
from typing import Any


class defer_keyboard_interrupt:  # noqa: N801 - it is used like contextlib's
    """Within it Ctrl-C waits for the end, so that assignments are all made or none."""

    __slots__ = ("_calls", "_handler")

    def __enter__(self) -> None:
        self._calls: list[Any] = []
        self._handler: Any = None
        if threading.current_thread() is not threading.main_thread():
            return
        handler = _signal.getsignal(_signal.SIGINT)
        if callable(handler):  # else it raises nothing
            self._handler = handler
            _signal.signal(_signal.SIGINT, lambda *call: self._calls.append(call))

    def __exit__(self, *_: object) -> None:
        if self._handler is not None:
            _signal.signal(_signal.SIGINT, self._handler)
            if self._calls:
                self._handler(*self._calls[0])
