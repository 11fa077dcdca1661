"""Environments in processes of their own, which can be interrupted and always close."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, cast

import gymnasium as gym
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, VectorEnv
from gymnasium.vector.async_vector_env import AsyncState

from yieldrl.envs import starting
from yieldrl.envs.parcels import Parcel, pack
from yieldrl.envs.pipes import Errors, Pipe
from yieldrl.envs.starting import (
    await_start,
    end_workers,
    start_method,
    without_main,
)
from yieldrl.envs.worker import work

PATIENCE = 30.0  # seconds for environments to close by themselves


class ProcessVectorEnv(AsyncVectorEnv):
    """An `AsyncVectorEnv` in SAME_STEP mode that neither hangs nor leaves workers.

    Its processes start afresh (by forkserver, or spawn), never as copies of this one: a
    copy of a process that has threads, as PyTorch's, may wait for ever for a lock that
    one of them held. The program is not run again in them, so it needs no
    `if __name__ == "__main__"`. What makes an environment is sent with cloudpickle, and
    with it all registered environments. Each process has one thread of PyTorch, and
    seeds Python's, NumPy's and PyTorch's global generators by its index: when it
    begins, and when a reset has a seed.

    Ctrl-C, or an error, while the workers step leaves answers in the pipes that nobody
    waits for. Here `reset` throws them away and begins new episodes, `step` before that
    says so, and `close` always ends: workers that do not are terminated.

    Args:
        env_fns: Functions that make one environment each.
        seed: Of what the workers draw from global generators. By default by chance.
        context: Start method, `"forkserver"` or `"spawn"`. By default that which the
            program has set, if it is one of them, else forkserver where there is one.

    Raises:
        TypeError: If a function cannot be sent to another process.
        ValueError: If the start method is another one.
        RuntimeError: If an environment could not be made in its process. At a step or
            reset, if a worker process has ended.
        TimeoutError: If an environment is not made within five minutes, or a worker
            does not answer within ten.

    Attributes:
        recorded_info: What of the infos belongs into every transition, as the
            environments say by an attribute of this name.
    """

    recorded_info: tuple[str, ...] = ()

    def __init__(
        self,
        env_fns: Sequence[Callable[[], gym.Env[Any, Any]]],
        *,
        seed: int | None = None,
        context: str | None = None,
    ) -> None:
        if seed is None:
            seed = int(np.random.default_rng().integers(2**31))
        packed = {id(make): pack(make) for make in {id(f): f for f in env_fns}.values()}
        parcels = [Parcel(f, packed[id(f)], i, seed) for i, f in enumerate(env_fns)]
        self.processes, self.parent_pipes = [], []
        first = env_fns[0]()  # here, so that its errors are seen as they are
        parcels[0].make = lambda: first
        try:
            with contextlib.ExitStack() as self._starting:
                self._starting.enter_context(without_main())
                super().__init__(
                    parcels,
                    context=start_method(context),
                    worker=cast("Any", work),
                    autoreset_mode=AutoresetMode.SAME_STEP,
                )
        except BaseException:
            end_workers(self.processes, self.parent_pipes, 0)
            self.closed = True
            raise
        self.env_fns = env_fns
        recorded = self.get_attr("recorded_info")[0]
        self.recorded_info = (*self.recorded_info, *recorded)

    def _check_spaces(self) -> None:
        """Wait for all processes, which Gymnasium has started, and compare spaces."""
        self._starting.close()
        self._watch_pipes()
        deadline = time.monotonic() + starting.START
        for index in range(self.num_envs):
            pipe, process = self.parent_pipes[index], self.processes[index]
            await_start(
                pipe, process, f"environment {index} of {self.num_envs}", deadline
            )
        super()._check_spaces()

    def _watch_pipes(self) -> None:
        """Let no wait for a worker be endless."""
        self.parent_pipes: list[Any] = [
            Pipe(pipe, f"environment {i} of {type(self).__name__}, in its process,")
            for i, pipe in enumerate(self.parent_pipes)
        ]
        self.error_queue: Any = Errors(self.error_queue)

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
        if timeout is None:
            at_rest = self._state is AsyncState.DEFAULT
            timeout = PATIENCE if at_rest else starting.GRACE
        end_workers(self.processes, self.parent_pipes, 0 if terminate else timeout)

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
            codes = [self.processes[i].exitcode for i in dead]
            raise RuntimeError(
                f"the worker processes {dead} of {self} have ended (exit codes"
                f" {codes}), after an error or because they were killed: make the"
                " environments anew (a new trainer can load the latest checkpoint)"
            )


def adopt(envs: VectorEnv[Any, Any, Any]) -> None:
    """Have an `AsyncVectorEnv` below all wrappers wait and close as ours do.

    Whoever passes Gymnasium's own gets the same object back from the trainer, so it is
    changed in place. Its workers stay as they are.
    """
    inside = envs.unwrapped
    if type(inside) is AsyncVectorEnv:
        inside.__class__ = ProcessVectorEnv
        inside._watch_pipes()  # pyright: ignore[reportAttributeAccessIssue]


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
