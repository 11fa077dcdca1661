"""The trainer's ends of its connections with worker processes: no wait is endless."""

import queue
import select
import warnings
from typing import Any

import cloudpickle

NOTICE = 60.0  # seconds without an answer until a warning says so
PATIENCE = 600.0  # seconds without an answer until it is an error
REPORT = 10.0  # seconds that the report of an error may take on its way


class Pipe:
    """A connection to a worker `name` that counts the answers still to come."""

    def __init__(self, connection: Any, name: str) -> None:
        self._connection, self.name, self.awaited = connection, name, 0
        self._poller: Any = None
        if hasattr(select, "poll"):  # asked once a step, where making one takes longer
            self._poller = select.poll()
            self._poller.register(connection.fileno(), select.POLLIN)

    def send(self, message: tuple[str, Any]) -> None:
        """Ask for something, in the words of `AsyncVectorEnv`."""
        self.awaited += 1
        if message[0] in ("step", "close"):
            self._connection.send(message)
        else:  # may hold what only this program defines
            self._connection.send_bytes(cloudpickle.dumps(message))

    def recv(self) -> Any:
        """The next answer; TimeoutError if there is none within ten minutes."""
        if not self.poll(NOTICE):
            warnings.warn(
                f"{self.name} has not answered for {NOTICE:.0f} s. If its steps take"
                f" that long, wait; after {PATIENCE:.0f} s it is an error. Ctrl-C ends"
                " the wait",
                stacklevel=2,
            )
            if not self.poll(PATIENCE - NOTICE):
                raise TimeoutError(
                    f"{self.name} has not answered for {PATIENCE:.0f} s: its step or"
                    " reset does not return. Look for a loop or a lock in it that waits"
                    " for ever (vectorization='sync' shows where, at Ctrl-C), then make"
                    " the environments anew"
                )
        answer = self._connection.recv()
        self.awaited -= 1
        return answer

    def drop_answers(self, timeout: float) -> None:
        """Discard the answers still to come; RuntimeError if one takes too long."""
        while self.awaited:
            if not self.poll(timeout):
                raise RuntimeError(
                    f"{self.name} gave no answer within {timeout:.0f} s after an"
                    " interruption: close() and make the environments anew"
                )
            self.recv()

    def poll(self, timeout: float = 0.0) -> bool:
        """Whether there is an answer, or an end, within so many seconds."""
        if self._poller is None:
            return self._connection.poll(timeout)
        return bool(self._poller.poll(1000 * max(0.0, timeout)))

    def close(self) -> None:
        self._connection.close()

    @property
    def closed(self) -> bool:
        return self._connection.closed


class Errors:
    """What workers failed with, as the queue that an `AsyncVectorEnv` reads."""

    def __init__(self, errors: Any) -> None:
        self._errors = errors

    def get(self) -> tuple[int, Any, Any, str]:
        """The next report: index, class, text and traceback."""
        try:
            return self._errors.get(timeout=REPORT)
        except queue.Empty:
            raise RuntimeError(
                "a worker process failed, and its error could not be sent: it stands"
                " in what the worker printed; vectorization='sync' shows it here"
            ) from None
