"""A thread that repeats one step of work, and ends between two of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager


class Background:
    """Repeats `work` in a thread of its own whenever it is `ready`.

    What fails there is raised by the next `check` in the caller's thread: the very
    exception, with the traceback of the background. The thread ends with it, and
    `start` begins another one. As a daemon it never keeps a program from ending.

    Args:
        work: One step, which is never interrupted half way.
        ready: Whether there is work. Asked anew after each `notify`.
        context: Makes a context manager to work in, such as a stream of a GPU.

    Attributes:
        changed: The condition that guards what `ready` looks at.
    """

    def __init__(
        self,
        work: Callable[[], None],
        ready: Callable[[], bool],
        context: Callable[[], AbstractContextManager[object]],
    ) -> None:
        self.changed = threading.Condition()
        self._work, self._ready, self._context = work, ready, context
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()

    @property
    def running(self) -> bool:
        """Whether there is a thread that has not been told to end."""
        thread = self._thread
        return thread is not None and thread.is_alive() and not self._ending.is_set()

    def start(self) -> None:
        """Begin to work, if it is not under way."""
        if self.running:
            return
        self.stop()  # a stop that Ctrl-C cut short
        self._ending = ending = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(ending,), name="yieldrl collector", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """End after the step under way, if there is one, and wait for that."""
        self._ending.set()
        self.notify()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()
            self._thread = None

    def check(self) -> None:
        """Raise what the work failed with, once."""
        if self._error is not None:
            self.stop()
            error, self._error = self._error, None
            raise error

    def notify(self) -> None:
        """Say that something changed that somebody may wait for."""
        with self.changed:
            self.changed.notify_all()

    def wait(self, until: Callable[[], bool]) -> None:
        """Wait in the caller's thread, and raise what the work fails with meanwhile."""
        with self.changed:
            self.changed.wait_for(lambda: self._error is not None or until())
        self.check()

    def _run(self, ending: threading.Event) -> None:
        try:
            with self._context():
                while self._wait_for_work(ending):
                    self._work()
                    self.notify()
        except BaseException as error:  # Ctrl-C too: whoever loops must hear of it
            with self.changed:
                self._error = error
                self.changed.notify_all()

    def _wait_for_work(self, ending: threading.Event) -> bool:
        with self.changed:
            self.changed.wait_for(lambda: ending.is_set() or self._ready())
        return not ending.is_set()
