"""Delay KeyboardInterrupt until the trainer's current step has ended."""

from __future__ import annotations

import signal
import threading
from typing import Any

from yieldrl.loggers.base import Stream

_python_handler = signal.default_int_handler


class Interrupts:
    """Context in which Ctrl-C does not interrupt `step`: half a step cannot be saved.

    A first Ctrl-C during a step takes effect at its end, a second one at once. With
    another handler than Python's own, or in another thread, nothing changes.
    """

    def __init__(self) -> None:
        self.within_step = False  # a step is running, or ended by an error
        self.wanted = False  # Ctrl-C was pressed during a step

    def step(self, logs: Stream) -> Any:
        """The next log, or None after the last; KeyboardInterrupt after a Ctrl-C."""
        if self.wanted:
            raise KeyboardInterrupt
        self.within_step = True
        log = next(logs, None)
        self.within_step = False
        return log

    def __enter__(self) -> Interrupts:
        self._replace_handler(_python_handler, self._answer)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # A notebook restores its own handler between cells: do not replace that.
        self._replace_handler(self._answer, _python_handler)
        if self.wanted and kind in (None, GeneratorExit):
            raise KeyboardInterrupt  # Ctrl-C was pressed during the last step

    def _replace_handler(self, old: Any, new: Any) -> None:
        in_main_thread = threading.current_thread() is threading.main_thread()
        if in_main_thread and signal.getsignal(signal.SIGINT) == old:
            signal.signal(signal.SIGINT, new)

    def _answer(self, number: int, frame: Any) -> None:
        if self.wanted or not self.within_step:
            _python_handler(number, frame)
        self.wanted = True
