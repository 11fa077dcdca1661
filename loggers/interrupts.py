"""Delay KeyboardInterrupt until the trainer's current step has ended."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yieldrl.foundations.logs import LogData
    from yieldrl.loggers.base import Stream


class Interrupts:
    """A context in which `step` is not interrupted half way.

    A network half updated, or an environment one step ahead of the buffer, is nothing
    to save. So a first Ctrl-C within a step waits for its end; a second one does not.
    Where Python's own handler is not in charge (another thread, a program's own
    handler), nothing changes.

    Attributes:
        within_step: Whether a step is under way, or an error has ended it.
        wanted: Whether Ctrl-C was pressed within a step.
    """

    def __init__(self) -> None:
        self.within_step = False
        self.wanted = False
        self._installed = False

    def step(self, logs: Stream) -> LogData | None:
        """The next log, or None after the last; KeyboardInterrupt if it is wanted."""
        if self.wanted:
            raise KeyboardInterrupt
        self.within_step = True
        log = next(logs, None)
        self.within_step = False
        return log

    def __enter__(self) -> Interrupts:
        if _in_main_thread():
            self._installed = signal.getsignal(signal.SIGINT) == _python_handler
        if self._installed:
            signal.signal(signal.SIGINT, self._answer)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # A notebook puts its own handler back between cells: leave that alone.
        in_charge = self._installed and signal.getsignal(signal.SIGINT) == self._answer
        if in_charge and _in_main_thread():
            signal.signal(signal.SIGINT, _python_handler)
        if self.wanted and kind in (None, GeneratorExit):
            raise KeyboardInterrupt  # pressed within the last step: not forgotten

    def _answer(self, number: int, frame: Any) -> None:
        if self.wanted or not self.within_step:
            _python_handler(number, frame)
        self.wanted = True


_python_handler = signal.default_int_handler


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
