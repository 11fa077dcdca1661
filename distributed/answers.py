"""Wait for answers of actors, and raise their errors with the actor's name."""

import importlib
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

log = logging.getLogger("yieldrl.distributed")

WAIT_SECONDS = 60.0
"""Seconds without an answer after which a log names the actor."""


DEATH_SECONDS = 5.0
"""Seconds within which Ray notices that a process has ended."""


class WorkerError(RuntimeError):
    """A worker cannot go on."""


class DeadWorkerError(WorkerError):
    """The process of a worker has ended."""


class StoreFullError(RuntimeError):
    """Ray's object store is full: no room for segments or weights."""


def answer_of(who: str, answer: Any) -> Any:
    """Wait for the answer of an actor; a slow one is logged.

    Args:
        who: The actor's name, such as `rollout worker 3`.
        answer: The future that a call of its method returned.

    Raises:
        DeadWorkerError: If the actor has died.
        StoreFullError: If there is no room for its answer.
        WorkerError: If it raised an error, which is the cause.
    """
    ray, began = importlib.import_module("ray"), time.monotonic()
    while not ray.wait([answer], timeout=WAIT_SECONDS)[0]:
        said = f"{who} has not answered for {time.monotonic() - began:.0f} s"
        log.warning("%s: a step of its environments takes long, or hangs", said)
    try:
        with full_store_said():
            return ray.get(answer)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause if isinstance(error.cause, Exception) else error
        raise WorkerError(f"{who}: {type(cause).__name__}: {cause}") from error
    except ray.exceptions.RayActorError as error:
        if getattr(error, "actor_init_failed", False):
            raise WorkerError(f"{who}: {_last_line(error)}") from error
        raise DeadWorkerError(f"{who} has died") from error


def first_failure(who: str, asked: Sequence[Any]) -> tuple[int, Any] | None:
    """Wait for the answers of all; if one fails, its number and Ray's error.

    The death of an actor comes before errors of others that it may have caused: lost
    connections are noticed sooner than deaths.

    Args:
        who: The name of all of them, such as `learners`.
        asked: The futures that calls of their methods returned.
    """
    ray, began = importlib.import_module("ray"), time.monotonic()
    waiting, found = [*asked], None
    while waiting and found is None:
        ready, waiting = ray.wait(waiting, timeout=WAIT_SECONDS)
        if not ready:
            told = len(waiting), len(asked), who, time.monotonic() - began
            log.warning("%d of %d %s have not answered for %.0f s", *told)
        found = next(_failures(asked, ready), None)
    if found is not None:
        ready = ray.wait([*asked], num_returns=len(asked), timeout=DEATH_SECONDS)[0]
        dead = ray.exceptions.RayActorError
        failed = _failures(asked, ready)
        return next((one for one in failed if isinstance(one[1], dead)), found)
    return None


def _failures(asked: Sequence[Any], ready: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Number and error of each ready answer that is an error."""
    ray = importlib.import_module("ray")
    for answer in ready:
        try:
            ray.get(answer)
        except ray.exceptions.RayError as error:
            yield asked.index(answer), error


@contextmanager
def full_store_said() -> Iterator[None]:
    """Turn errors of a full object store into one that says what to do.

    Raises:
        StoreFullError: If the object store has no room for the block's values.
    """
    known = importlib.import_module("ray.exceptions")
    full = known.ObjectStoreFullError, known.OutOfDiskError
    try:
        yield
    except Exception as error:
        if not isinstance(getattr(error, "cause", None) or error, full):
            raise
        raise StoreFullError(
            "Ray's object store is full, and so is the disk to which it spills: make"
            " room there, give Ray more memory (ray start --object-store-memory), or"
            " ask for less at a time (num_steps, num_envs, max_policy_lag)"
        ) from error


def _last_line(error: Exception) -> str:
    """The last line of a traceback in a message of Ray: the error itself."""
    lines = [line for line in str(error).splitlines() if line and line[0] != " "]
    return lines[-1]
