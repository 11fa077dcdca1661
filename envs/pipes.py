"""Communication between a trainer and worker processes, with timeouts."""

import copy
import os
import pickle
import queue
import select
import warnings
from collections.abc import Callable
from typing import Any

import cloudpickle
import gymnasium as gym
import torch
from gymnasium.envs.registration import EnvSpec, load_env_creator

from yieldrl.foundations import derive_seed, seed_everything

NOTICE = 60.0  # seconds without an answer until a warning
PATIENCE = 600.0  # seconds without an answer until an error
REPORT = 10.0  # seconds to wait for the report of an error


class Pipe:
    """A connection to a worker `name` that counts pending answers."""

    def __init__(self, connection: Any, name: str) -> None:
        self._connection, self.name, self.awaited = connection, name, 0
        self._poller: Any = None
        if hasattr(select, "poll"):  # created once, because creation is slow
            self._poller = select.poll()
            self._poller.register(connection.fileno(), select.POLLIN)

    def send(self, message: tuple[str, Any]) -> None:
        """Send a command of `AsyncVectorEnv`."""
        self.awaited += 1
        if message[0] in ("step", "close"):
            self._connection.send(message)
        else:  # may contain objects defined in this program
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
        """Discard pending answers; RuntimeError if one takes too long."""
        while self.awaited:
            if not self.poll(timeout):
                raise RuntimeError(
                    f"{self.name} gave no answer within {timeout:.0f} s after an"
                    " interruption: close() and make the environments anew"
                )
            self.recv()

    def poll(self, timeout: float = 0.0) -> bool:
        """Whether an answer, or the worker's end, arrives within `timeout` seconds."""
        if self._poller is None:
            return self._connection.poll(timeout)
        return bool(self._poller.poll(1000 * max(0.0, timeout)))

    def close(self) -> None:
        self._connection.close()

    @property
    def closed(self) -> bool:
        return self._connection.closed


class Errors:
    """Errors of workers, with the interface of `AsyncVectorEnv`'s error queue."""

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


UNSENT_ERRORS = (pickle.PicklingError, AttributeError, TypeError)
"""Errors of pickling for objects that cannot be sent."""

Make = Callable[[], gym.Env]


def pack(make: Make) -> bytes:
    """Pickle a function with everything that it needs of the running program, including
    registered environments: the process never runs the program again."""
    try:
        return cloudpickle.dumps((make, _registered()))
    except Exception as reason:  # objects may raise any error
        raise TypeError(
            f"what makes the environments cannot be sent to a process of their own"
            f" ({type(reason).__name__}: {reason}): open connections, files, locks and"
            " simulators inside of the function or the environment's constructor, or"
            " set vectorization='sync'"
        ) from reason


class Parcel:
    """Makes environment `index` of a batch: with `make` in this process, and in another
    process from `packed`, the result of `pack`. Each process has different random
    numbers."""

    def __init__(self, make: Make, packed: bytes, index: int, seed: int) -> None:
        self.make: Make | None = make
        self.packed, self.index, self.seed = packed, index, seed

    def __getstate__(self) -> dict[str, Any]:
        surroundings = dict(os.environ), torch.get_default_dtype()
        return {**vars(self), "make": None, "surroundings": surroundings}

    def __call__(self) -> gym.Env:
        if self.make is not None:
            return self.make()
        environ, dtype = vars(self)["surroundings"]
        os.environ.update(environ)
        # Processes share the cores: more threads would slow each other down.
        torch.set_num_threads(1)
        torch.set_default_dtype(dtype)
        make, specs = pickle.loads(self.packed)
        gym.registry.update(specs)
        seed_everything(derive_seed(self.seed, f"worker {self.index}"))
        return make()


def portable(spec: EnvSpec) -> EnvSpec:
    """A spec that works in every process: includes code defined in the program."""
    place = spec.entry_point
    if not (isinstance(place, str) and place.startswith("__main__:")):
        return spec
    filled: Any = copy.copy(spec)
    filled.entry_point = load_env_creator(place)
    return filled


def _registered() -> dict[str, EnvSpec]:
    """Registered environments that can be pickled, by id."""
    specs: dict[str, EnvSpec] = {}
    for name, spec in gym.registry.items():
        try:
            specs[name] = portable(spec)
            if not isinstance(specs[name].entry_point, str | None):
                cloudpickle.dumps(specs[name])
        except Exception:  # skip it; an error follows if it is needed
            specs.pop(name, None)
    return specs


def sendable_error(error: Exception) -> tuple[type[Exception], str]:
    """The class of an error, or a built-in one if other processes lack the class, and
    the text to make it with."""
    kind, alone = type(error), len(error.args) == 1 and isinstance(error.args[0], str)
    text = error.args[0] if alone else str(error)
    try:
        if pickle.loads(pickle.dumps(kind))(text).args == (text,):
            return kind, text
    except Exception:  # its constructor may raise any error
        pass
    kinds = (k for k in (ValueError, TypeError) if issubclass(kind, k))
    return next(kinds, RuntimeError), f"{kind.__name__}: {error}"
