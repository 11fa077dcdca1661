"""Call actors on Ray, raise their errors by name, and replace those that die."""

import importlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from yieldrl.core import defer_keyboard_interrupt

log = logging.getLogger("yieldrl.distributed")

WAIT_SECONDS = 60.0
"""Seconds without an answer after which a log names the actor."""

MAX_DEATHS = 5
"""Deaths of an actor, with no work done in between, that end the run."""


LOSSES = {"LocalRayletDiedError", "NodeDiedError"}
LOSSES |= {"OutOfMemoryError", "WorkerCrashedError"}
"""Errors of Ray that tell of a process that has ended, beside those of actors."""


class WorkerError(RuntimeError):
    """A worker cannot go on."""


class DeadWorkerError(WorkerError):
    """A worker has ended, or its node, or what it has answered is lost."""


class StartError(DeadWorkerError):
    """A worker has ended because its constructor raised an error."""


@dataclass
class Call:
    """A call of an actor's method."""

    index: int  # the actor's number
    actor: Any
    method: str
    args: tuple[Any, ...]
    answer: Any  # the future answer


class ActorPool:
    """The actors of one role: one that dies is started again.

    Args:
        cluster: A `Cluster` with resources for each.
        role: The config field that counts them, such as `rollout_workers`.
        kind: Their class.
        count: Number of actors.
        work: Description of work done, such as `a finished segment`.
        arguments: Those of its constructor, from an actor's number and how often it was
            started again. All else comes with each call, so that an actor that was
            started again needs nothing more.

    Attributes:
        name: Name of one of them in messages, such as `rollout worker`.
        actors: Their handles.
        lives: How often each was started again.
    """

    def __init__(
        self,
        cluster: Any,
        role: str,
        kind: type,
        count: int,
        work: str,
        arguments: Callable[[int, int], tuple[Any, ...]] = lambda index, life: (),
    ) -> None:
        self.cluster, self.role, self.kind, self.count = cluster, role, kind, count
        self.name = role.removesuffix("s").replace("_", " ")
        self.lives = [0] * count
        self._deaths = [0] * count  # in a row, without work done
        self._work, self._arguments = work, arguments
        self.actors = [self._make(index) for index in range(count)]

    def ask(self, index: int, method: str, *args: Any) -> Call:
        """Call a method of an actor, without waiting for its answer."""
        actor = self.actors[index]
        return Call(index, actor, method, args, getattr(actor, method).remote(*args))

    def ask_all(self, method: str, *args: Any) -> list[Any]:
        """The answers of all actors to a call."""
        return self.ask_each(method, [args] * self.count)

    def ask_each(self, method: str, args: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The answers of all actors to calls with arguments of their own."""
        calls = [self.ask(index, method, *each) for index, each in enumerate(args)]
        return [self.result(call) for call in calls]

    def get(self, call: Call, seconds: float = float("inf")) -> Any:
        """Wait for the answer to a call.

        Raises:
            DeadWorkerError: If the actor has died; it was not started again.
            WorkerError: If it raised an error, or could not be started at all.
            TimeoutError: If it has not answered in so many seconds.
        """
        name = f"{self.name} {call.index}"
        try:
            answer = answer_of(name, call.answer, seconds)
        except StartError as error:
            if self.lives[call.index]:  # the one before it could be started
                raise
            raise WorkerError(str(error)) from error
        self.did_work(call.index)
        return answer

    def result(self, call: Call, seconds: float = float("inf")) -> Any:
        """Wait for the answer to a call; if the actor died, of the one in its place.

        Raises:
            WorkerError: If it raised an error, or died too often in a row.
            TimeoutError: If one has not answered in so many seconds.
        """
        while True:
            try:
                return self.get(call, seconds)
            except DeadWorkerError as error:
                self.replace(call.index, call.actor, error)
                call = self.ask(call.index, call.method, *call.args)

    def replace(
        self, index: int, dead: Any, error: BaseException | None = None
    ) -> None:
        """Start an actor that has died again, unless that was done already.

        Args:
            index: The actor's number.
            dead: Its handle.
            error: That of its death.

        Raises:
            WorkerError: If it died `MAX_DEATHS` times in a row.
        """
        if self.actors[index] is not dead:
            return
        self._deaths[index] += 1
        said = str(error or f"{self.name} {index} has died")
        if self._deaths[index] > MAX_DEATHS:
            raise WorkerError(
                f"{self.name} {index} died {MAX_DEATHS} times in a row without"
                f" {self._work}: look for too little memory, or for an environment that"
                f" ends its process, or hangs. The last time: {said}"
            ) from error
        log.warning("%s; it is started again", said)
        with defer_keyboard_interrupt():
            self.lives[index] += 1
            self.cluster.kill(dead)
            self.actors[index] = self._make(index)

    def did_work(self, index: int) -> None:
        """Note that an actor has done work, which resets its deaths in a row."""
        self._deaths[index] = 0

    def _make(self, index: int) -> Any:
        arguments = self._arguments(index, self.lives[index])
        return self.cluster.actor(self.kind, self.role, *arguments)


def answer_of(who: str, answer: Any, seconds: float = float("inf")) -> Any:
    """Wait for the answer of an actor; a slow one is logged.

    Args:
        who: The actor's name, such as `rollout worker 3`.
        answer: The future that a call of its method returned.
        seconds: How long to wait.

    Raises:
        DeadWorkerError: If the actor has died, or Ray has lost what it answered, or
            what it needed.
        WorkerError: If it raised an error, which is the cause.
        TimeoutError: If there is no answer by then.
    """
    ray, waited = importlib.import_module("ray"), 0.0
    while not ray.wait([answer], timeout=min(WAIT_SECONDS, seconds - waited))[0]:
        waited += WAIT_SECONDS
        if waited >= seconds:
            raise TimeoutError(f"{who} has not answered for {seconds:g} s")
        log.warning(
            "%s has not answered for %.0f s: its work takes long, such as many steps of"
            " environments, each of which may take `env_timeout`; or it hangs, or waits"
            " for a place on the cluster",
            *(who, waited),
        )
    try:
        return ray.get(answer)
    except ray.exceptions.RayError as error:
        cause = getattr(error, "cause", None)  # of an error that it raised
        cause = cause if isinstance(cause, Exception) else error
        if getattr(error, "actor_init_failed", False):
            # The last line of the traceback in Ray's message: the error itself.
            lines = [x for x in str(error).splitlines() if x and x[0] != " "]
            raise StartError(f"{who}: {lines[-1]}") from error
        if isinstance(error, ray.exceptions.RayActorError):
            raise DeadWorkerError(f"{who} has died") from error
        name, said = type(cause).__name__, str(cause)
        if name in LOSSES or isinstance(cause, ray.exceptions.ObjectLostError):
            first = said.partition("\n")[0]
            raise DeadWorkerError(f"{who} is lost: {name}: {first}") from error
        raise WorkerError(f"{who}: {name}: {said}") from error
