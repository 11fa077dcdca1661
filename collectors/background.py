"""A thread that repeats one step of work, and ends between two of them."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from queue import Empty, SimpleQueue

from yieldrl.foundations import defer_keyboard_interrupt

PATIENCE = 5.0
"""Seconds that anybody waits for the end of a step when it is time to stop."""

LONG = 60.0
"""Seconds without a step after which `wait` says that it is still waiting."""

_UNDER_WAY = "a step of the environments (or of the policy) in the background"


class Background:
    """Repeats `work` in a thread of its own whenever it is `ready`.

    What fails there is raised by the next `check` in the caller's thread: the very
    exception, with the traceback of the background. The thread ends with it, and
    `start` begins another one. As a daemon it never keeps a program from ending.

    Ctrl-C may come between any two instructions of the caller. So neither side ever
    holds a lock that the other one needs, as a condition variable would: each looks at
    what it waits for, and sleeps until the other one rings.

    Args:
        work: One step, which is never interrupted half way.
        ready: Whether there is work. Asked anew after each `notify`.
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
        self._life: _Life | None = None
        self._wanted, self._done = _Bell(), _Bell()

    @property
    def running(self) -> bool:
        """Whether there is a thread that has not ended or been told to."""
        life = self._life
        return life is not None and not life.ending and life.lasts.locked()

    def start(self) -> None:
        """Begin to work, if it is not under way.

        Raises:
            RuntimeError: If a step that began before has not returned.
        """
        if self.running:
            return
        self.end()  # a stop that Ctrl-C cut short
        with defer_keyboard_interrupt():
            life = _Life(self._run)
            life.thread.start()
            self._life = life

    def stop(self) -> None:
        """End after the step under way, if there is one, and wait for that.

        Warns and goes on, if it has not returned after `PATIENCE` seconds.
        """
        life = self._life
        told = life is None or life.left_behind
        if not self._ended() and not told:
            warnings.warn(
                f"{_UNDER_WAY} has not returned for {PATIENCE:g} s: its thread is left"
                " behind, and ends with the program or when the step returns. Look"
                " for what the step waits for, and give it a time limit",
                RuntimeWarning,
                stacklevel=2,
            )

    def end(self) -> None:
        """As `stop`, for those who go on with what the step changes.

        Raises:
            RuntimeError: If the step has not returned after `PATIENCE` seconds.
        """
        if not self._ended():
            raise RuntimeError(
                f"{_UNDER_WAY} has not returned, and without its end nobody knows where"
                " they stand: try again when it has, or make a new trainer, with"
                " environments of its own"
            )

    def _ended(self) -> bool:
        """Tell the thread to end; whether it did so in time."""
        life = self._life
        if life is None:
            return True
        life.ending = True
        self._wanted.ring()
        if life.thread is threading.current_thread():
            return True
        until = time.monotonic() + (0.0 if life.left_behind else PATIENCE)
        while life.lasts.locked():  # Ctrl-C must not end a join (bpo-45274)
            left = until - time.monotonic()
            if left <= 0:
                life.left_behind = True
                return False
            self._done.wait(min(left, 0.1))  # somebody else may hear the bell
        with defer_keyboard_interrupt():
            life.thread.join()
            self._life = None
        return True

    def check(self) -> None:
        """Raise what the work failed with, once."""
        if self._error is None:
            return
        self.stop()
        error, self._error = self._error, None
        try:
            raise error
        finally:
            del error  # its traceback holds this frame

    def notify(self) -> None:
        """Say that there may be work now."""
        self._wanted.ring()

    def wait(self, until: Callable[[], bool]) -> None:
        """Wait in the caller's thread, and raise what the work fails with meanwhile.

        Warns once, if that takes longer than `LONG` seconds; Ctrl-C ends it.
        """
        began, told = time.monotonic(), False
        while self._error is None and not until():
            self._wanted.ring()  # Ctrl-C may have come before a `notify`
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

    def _run(self, life: _Life) -> None:
        try:
            with self._context():
                while self._has_work(life):
                    self._work()
                    self._done.ring()
        except BaseException as error:  # Ctrl-C too: whoever loops must hear of it
            self._error = error
        finally:
            life.lasts.release()
            self._done.ring()

    def _has_work(self, life: _Life) -> bool:
        while not life.ending:
            if self._ready():
                return True
            self._wanted.wait()
        return False


class _Life:
    """A thread, from its start to its end.

    Attributes:
        ending: Whether it was told to end.
        left_behind: Whether it did not do so in time.
        lasts: Held until it has ended.
    """

    def __init__(self, work: Callable[[_Life], None]) -> None:
        self.ending = self.left_behind = False
        self.lasts = threading.Lock()
        self.lasts.acquire()
        self.thread = threading.Thread(
            target=work, args=(self,), name="yieldrl collector", daemon=True
        )


class _Bell:
    """Wakes one who waits, or who will: it is remembered until somebody does."""

    def __init__(self) -> None:
        self._rung: SimpleQueue[None] = SimpleQueue()

    def ring(self) -> None:
        if self._rung.empty():
            self._rung.put(None)

    def wait(self, seconds: float | None = None) -> None:
        try:
            self._rung.get(timeout=seconds)
        except Empty:
            return
