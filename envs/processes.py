"""Environments in separate processes, which can be interrupted and always close."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, cast

import gymnasium as gym
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, VectorEnv
from gymnasium.vector.async_vector_env import AsyncState

from yieldrl.envs import starting
from yieldrl.envs.arrays import ResetResult, StepResult
from yieldrl.envs.pipes import Errors, Parcel, Pipe, pack
from yieldrl.envs.single_answers import declared_names
from yieldrl.envs.worker import work

PATIENCE = 30.0  # seconds for environments to close by themselves


class ProcessVectorEnv(AsyncVectorEnv):
    """An `AsyncVectorEnv` in SAME_STEP mode that neither hangs nor leaves workers.

    Its processes start by forkserver or spawn, never by fork: a forked process with
    threads, such as PyTorch's, may wait forever for a lock that one of them held. They
    do not run the program again, so it needs no `if __name__ == "__main__"`: functions
    are sent with cloudpickle, as are all registered environments. Each process has one
    PyTorch thread, and seeds Python's, NumPy's and PyTorch's global generators by its
    index: at its start, and at a seeded reset.

    After Ctrl-C or an error during a step, `reset` discards unread answers and begins
    new episodes, `step` before that raises an error, and `close` always returns: it
    terminates workers that do not end.

    Args:
        env_fns: Functions that make one environment each.
        seed: Seeds the workers' global generators; None for an unpredictable one.
        context: Start method, `"forkserver"` or `"spawn"`; None for the program's, if
            it is one of them, else forkserver where there is one.

    Raises:
        TypeError: If a function cannot be sent to another process.
        RuntimeError: If an environment could not be made in its process. At a step or
            reset, if a worker process has ended.
        TimeoutError: If making one takes five minutes, or an answer ten.
    """

    recorded_info: tuple[str, ...] = ()
    """Entries of info to store in every transition, from the environments."""

    def __init__(
        self,
        env_fns: Sequence[Callable[[], gym.Env]],
        *,
        seed: int | None = None,
        context: str | None = None,
    ) -> None:
        if seed is None:
            seed = int(np.random.default_rng().integers(2**31))
        packed = {id(make): pack(make) for make in {id(f): f for f in env_fns}.values()}
        parcels = [Parcel(f, packed[id(f)], i, seed) for i, f in enumerate(env_fns)]
        self.processes, self.parent_pipes = [], []
        first = env_fns[0]()  # made here, so that errors are raised unchanged
        parcels[0].make = lambda: first
        self.recorded_info += declared_names(first, "recorded_info")
        try:
            with contextlib.ExitStack() as self._starting:
                self._starting.enter_context(starting.without_main())
                super().__init__(
                    parcels,
                    context=starting.start_method(context),
                    worker=cast("Any", work),
                    autoreset_mode=AutoresetMode.SAME_STEP,
                )
        except BaseException:
            starting.end_workers(self.processes, self.parent_pipes, 0)
            self.closed = True
            raise
        self.env_fns = env_fns

    def _check_spaces(self) -> None:
        """Wait until all processes have started, and compare their spaces."""
        self._starting.close()
        self._watch_pipes()
        deadline = time.monotonic() + starting.START
        for i, process in enumerate(self.processes):
            name = f"environment {i} of {self.num_envs}"
            starting.await_start(self.parent_pipes[i], process, name, deadline)
        super()._check_spaces()

    def _watch_pipes(self) -> None:
        """Add timeouts to all waits for workers."""
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

    def reset(self, *, seed: Any = None, options: Any = None) -> ResetResult:
        """Start new episodes, also after an interrupted step or reset."""
        self._check_workers()
        with self._naming_dead_workers():
            if self._state is not AsyncState.DEFAULT:
                for pipe in self.parent_pipes:
                    pipe.drop_answers(PATIENCE)
                self._state = AsyncState.DEFAULT
            return super().reset(seed=seed, options=options)

    def step(self, actions: Any) -> StepResult:
        """Step every environment once."""
        if self._state is not AsyncState.DEFAULT or None in self.parent_pipes:
            self._check_workers()
            raise RuntimeError(
                f"a {self._state.value} of {self} was interrupted, and some of its"
                " environments have taken it: call reset() to begin new episodes"
            )
        with self._naming_dead_workers():
            return super().step(actions)

    def close_extras(
        self, timeout: float | None = None, terminate: bool = False
    ) -> None:
        """End the workers, and terminate those still alive after `timeout` seconds: by
        default 30, or 2 after an interruption, or 0 with `terminate`."""
        if timeout is None:
            timeout = PATIENCE if self._state is AsyncState.DEFAULT else starting.GRACE
        timeout = 0 if terminate else timeout
        starting.end_workers(self.processes, self.parent_pipes, timeout)

    def _add_info(
        self, vector_infos: dict[str, Any], env_info: dict[str, Any], env_num: int
    ) -> dict[str, Any]:
        if not isinstance(env_info, dict):
            raise TypeError(
                f"environment {env_num} of {self} returned the info {env_info!r}: must"
                " be a dict"
            )
        return super()._add_info(vector_infos, env_info, env_num)

    @contextlib.contextmanager
    def _naming_dead_workers(self) -> Iterator[None]:
        """Replace `EOFError` of an ended worker by an error with the remedy."""
        try:
            yield
        except (EOFError, BrokenPipeError, ConnectionResetError):
            for process in self.processes:
                process.join(0.1)  # so that its exit code is known
            self._check_workers()
            raise

    def _check_workers(self) -> None:
        workers = enumerate(zip(self.parent_pipes, self.processes, strict=True))
        dead = [i for i, (pipe, p) in workers if pipe is None or not p.is_alive()]
        if dead and not self.closed:
            codes = [self.processes[i].exitcode for i in dead]
            raise RuntimeError(
                f"the worker processes {dead} of {self} have ended (exit codes"
                f" {codes}), after an error or because they were killed: make the"
                " environments anew (a new trainer can load the latest checkpoint)"
            )


def adopt(envs: VectorEnv) -> None:
    """Give an `AsyncVectorEnv` inside wrappers our timeouts and `close`; in place,
    because a trainer keeps the object that it was passed."""
    inside = envs.unwrapped
    if type(inside) is AsyncVectorEnv:
        inside.__class__ = ProcessVectorEnv
        inside._watch_pipes()  # pyright: ignore[reportAttributeAccessIssue]
