"""Gymnasium's environments in processes, which can be interrupted and always close."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

import gymnasium as gym
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, VectorEnv
from gymnasium.vector.async_vector_env import AsyncState

from yieldrl.envs.single_answers import CheckedAnswers

GRACE = 2.0  # seconds to finish a step that nobody waits for any more
PATIENCE = 30.0  # seconds for environments to close by themselves


class ProcessVectorEnv(AsyncVectorEnv):
    """`gymnasium.vector.AsyncVectorEnv` that survives an interruption.

    Ctrl-C, or an error, while the workers step leaves answers in the pipes that nobody
    waits for. Here `reset` throws them away and begins new episodes, `step` before that
    says so, and `close` always ends: workers that do not are terminated.

    Args:
        env_fns: Functions that make one environment each.
        kwargs: Arguments of `gymnasium.vector.AsyncVectorEnv`.

    Raises:
        RuntimeError: At a step or reset, if a worker process has ended.

    Attributes:
        recorded_info: What of the infos belongs into every transition, as the
            environments say by an attribute of this name.
    """

    recorded_info: tuple[str, ...] = ()

    def __init__(
        self, env_fns: Sequence[Callable[[], gym.Env[Any, Any]]], **kwargs: Any
    ) -> None:
        trainer = os.getpid()
        functions = [
            partial(_make_in_worker, make, i, trainer) for i, make in enumerate(env_fns)
        ]
        super().__init__(functions, **kwargs)
        self.env_fns = env_fns
        self._count_answers()
        recorded = self.get_attr("recorded_info")[0]
        self.recorded_info = (*self.recorded_info, *recorded)

    def _count_answers(self) -> None:
        self.parent_pipes: list[Any] = [_Pipe(pipe) for pipe in self.parent_pipes]

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            "environments in processes cannot be copied or pickled: make others of the"
            " same kind, or take vectorization='sync', whose environments can be copied"
        )

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start new episodes, also where a step or a reset was interrupted."""
        self._check_workers()
        with _NamedDeath(self):
            if self._state is not AsyncState.DEFAULT:
                self._drop_answers()
            return super().reset(seed=seed, options=options)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step every environment once."""
        if self._state is not AsyncState.DEFAULT or None in self.parent_pipes:
            self._refuse_step()
        with _NamedDeath(self):
            return super().step(actions)

    def close_extras(
        self, timeout: float | None = None, terminate: bool = False
    ) -> None:
        """End the workers: those that do not within `timeout` seconds are terminated.

        Args:
            timeout: By default 30 seconds, or 2 after an interruption.
            terminate: Whether to terminate them all at once.
        """
        pipes = [p for p in self.parent_pipes if p is not None and not p.closed]
        if timeout is None:
            at_rest = self._state is AsyncState.DEFAULT
            timeout = PATIENCE if at_rest else GRACE
        deadline = time.monotonic() + (0 if terminate else timeout)
        for pipe in pipes:
            with contextlib.suppress(OSError):  # which says that it has ended already
                pipe.send(("close", None))
        for process in self.processes:
            process.join(max(0.0, deadline - time.monotonic()))
        for end in ("terminate", "kill"):
            alive = [process for process in self.processes if process.is_alive()]
            for process in alive:
                getattr(process, end)()
            for process in alive:
                process.join(GRACE)
        for pipe in pipes:
            pipe.close()

    def _drop_answers(self) -> None:
        """Wait for what the workers were asked for, and throw it away."""
        for i, pipe in enumerate(self.parent_pipes):
            while pipe.awaited:
                if not pipe.poll(PATIENCE):
                    raise RuntimeError(
                        f"worker {i} of {self} gave no answer within {PATIENCE:.0f} s"
                        " after an interruption: close() and make the environments anew"
                    )
                pipe.recv()
        self._state = AsyncState.DEFAULT

    def _refuse_step(self) -> NoReturn:
        self._check_workers()
        raise RuntimeError(
            f"a {self._state.value} of {self} was interrupted, and some of its"
            " environments have taken it: call reset() to begin new episodes"
        )

    def _add_info(
        self, vector_infos: dict[str, Any], env_info: dict[str, Any], env_num: int
    ) -> dict[str, Any]:
        if not isinstance(env_info, dict):
            raise TypeError(
                f"environment {env_num} of {self} returned the info {env_info!r}: must"
                " be a dict"
            )
        return super()._add_info(vector_infos, env_info, env_num)

    def _check_workers(self) -> None:
        dead = [
            i
            for i, (pipe, process) in enumerate(
                zip(self.parent_pipes, self.processes, strict=True)
            )
            if pipe is None or not process.is_alive()
        ]
        if dead and not self.closed:
            raise RuntimeError(
                f"the worker processes {dead} of {self} have ended, after an error or"
                " because they were killed: make the environments anew (a new trainer"
                " can load the latest checkpoint)"
            )


def adopt(envs: VectorEnv[Any, Any, Any]) -> None:
    """Let an `AsyncVectorEnv` below all wrappers close as a `ProcessVectorEnv` does.

    Whoever passes Gymnasium's own gets the same object back from the trainer, so it is
    changed in place. Its workers stay as they are.
    """
    inside = envs.unwrapped
    if type(inside) is AsyncVectorEnv:
        inside.__class__ = ProcessVectorEnv
        inside._count_answers()  # pyright: ignore[reportAttributeAccessIssue]


def in_processes(
    functions: Sequence[Callable[[], gym.Env[Any, Any]]],
) -> ProcessVectorEnv:
    """Environments in a process each, in SAME_STEP mode."""
    return ProcessVectorEnv(functions, autoreset_mode=AutoresetMode.SAME_STEP)


class _Pipe:
    """A connection to a worker that counts the answers which are still to come."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.awaited = 0

    def send(self, message: Any) -> None:
        self.awaited += 1
        self._connection.send(message)

    def recv(self) -> Any:
        answer = self._connection.recv()
        self.awaited -= 1
        return answer

    def poll(self, timeout: float = 0.0) -> bool:
        return self._connection.poll(timeout)

    def close(self) -> None:
        self._connection.close()

    @property
    def closed(self) -> bool:
        return self._connection.closed


class _NamedDeath:
    """Names the remedy where a worker is gone, instead of `EOFError`."""

    def __init__(self, envs: ProcessVectorEnv) -> None:
        self.envs = envs

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if isinstance(error, EOFError | BrokenPipeError | ConnectionResetError):
            for process in self.envs.processes:
                process.join(0.1)  # so that it is seen to have ended
            self.envs._check_workers()


def _make_in_worker(
    make: Callable[[], gym.Env[Any, Any]], index: int, trainer: int
) -> gym.Env[Any, Any]:
    """An environment; in a worker one that ignores Ctrl-C and is looked at.

    Ctrl-C is for the trainer, which closes its workers.
    """
    if os.getpid() == trainer:
        return make()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return CheckedAnswers(make(), index)
