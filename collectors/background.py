"""A thread that repeats one step of work, and stops between two of them."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from queue import Empty, SimpleQueue

from yieldrl.core import defer_keyboard_interrupt

PATIENCE = 5.0  # seconds to wait for the end of a step when stopping
LONG = 60.0  # seconds after which `wait` warns that it still waits
_UNDER_WAY = "a step of the environments (or of the policy) in the background"


class Background:
    """Repeats `work` in a daemon thread whenever it is `ready`.

    An exception of the work ends the thread; the caller's next `check` raises it, and
    `start` begins another thread. The threads use events, so that Ctrl-C between any
    two instructions of the caller cannot leave a lock held.

    Args:
        work: One step; the thread stops before or after it.
        ready: Whether there is work. Called again after each `notify`.
        context: Makes a context manager to work in, such as a stream of a GPU.
    """

    def __init__(
        self,
        work: Callable[[], None],
        ready: Callable[[], bool],
        context: Callable[[], AbstractContextManager[object]],
    ) -> None:
        self._work, self._ready, self._context = work, ready, context
        self._error: BaseException | None = None
        self._worker: _Worker | None = None
        self._wanted, self._done = _Event(), _Event()

    @property
    def running(self) -> bool:
        """Whether there is a thread that was not told to end."""
        worker = self._worker
        return worker is not None and not worker.ending and worker.running.locked()

    def start(self) -> None:
        """Start the thread, if it is not running; it raises as `end` does."""
        if self.running:
            return
        self.end()  # a stop that Ctrl-C cut short
        with defer_keyboard_interrupt():
            worker = _Worker(self._run)
            worker.thread.start()
            self._worker = worker

    def stop(self) -> None:
        """Stop the thread after its current step; warn if that takes too long."""
        worker = self._worker
        told = worker is None or worker.left_behind
        if not self._join() and not told:
            warnings.warn(
                f"{_UNDER_WAY} has not returned for {PATIENCE:g} s: its thread is left"
                " behind, and ends with the program or when the step returns. Look"
                " for what the step waits for, and give it a time limit",
                RuntimeWarning,
                stacklevel=2,
            )

    def end(self) -> None:
        """Stop as `stop` does, but raise RuntimeError if the thread still runs."""
        if not self._join():
            raise RuntimeError(
                f"{_UNDER_WAY} has not returned, so the state of the environments is"
                " unknown: try again when it has, or make a new trainer, with"
                " environments of its own"
            )

    def _join(self) -> bool:
        """Tell the thread to end; whether it did so in time."""
        worker = self._worker
        if worker is None:
            return True
        worker.ending = True
        self._wanted.set()
        if worker.thread is threading.current_thread():
            return True
        until = time.monotonic() + (0.0 if worker.left_behind else PATIENCE)
        while worker.running.locked():  # Ctrl-C must not end a join (bpo-45274)
            left = until - time.monotonic()
            if left <= 0:
                worker.left_behind = True
                return False
            self._done.wait(min(left, 0.1))  # another thread may take the event
        with defer_keyboard_interrupt():
            worker.thread.join()
            self._worker = None
        return True

    def check(self) -> None:
        """Raise the exception with which the work failed, once."""
        if self._error is None:
            return
        self.stop()
        error, self._error = self._error, None
        try:
            raise error
        finally:
            del error  # its traceback holds this frame

    def notify(self) -> None:
        """Tell the thread that there may be work."""
        self._wanted.set()

    def wait(self, until: Callable[[], bool]) -> None:
        """Wait in the caller's thread for a condition; raise as `check` does."""
        began, told = time.monotonic(), False
        while self._error is None and not until():
            self._wanted.set()  # Ctrl-C may have come before a `notify`
            self._done.wait(LONG)
            if not told and time.monotonic() - began > LONG:
                told = True
                warnings.warn(
                    f"{_UNDER_WAY} has taken more than {LONG:g} s so far, and the loop"
                    " waits for it: Ctrl-C ends the loop",
                    RuntimeWarning,
                    stacklevel=2,
                )
        self.check()

    def _run(self, worker: _Worker) -> None:
        try:
            with self._context():
                while not worker.ending:
                    if self._ready():
                        self._work()
                        self._done.set()
                    else:
                        self._wanted.wait()
        except BaseException as error:  # Ctrl-C too: the loop must raise it
            self._error = error
        finally:
            worker.running.release()
            self._done.set()


class _Worker:
    """A thread, and how far it is."""

    def __init__(self, work: Callable[[_Worker], None]) -> None:
        self.ending = False  # whether it was asked to end
        self.left_behind = False  # whether it did not do so in time
        self.running = threading.Lock()  # held until it has ended
        self.running.acquire()
        options = {"name": "yieldrl collector", "daemon": True}
        self.thread = threading.Thread(target=work, args=(self,), **options)


class _Event:
    """Wakes one waiting thread, by one call of C code that holds no lock."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[None] = SimpleQueue()

    def set(self) -> None:
        if self._queue.empty():
            self._queue.put(None)

    def wait(self, seconds: float | None = None) -> None:
        with suppress(Empty):
            self._queue.get(timeout=seconds)
