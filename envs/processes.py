"""Environments in separate processes, which can be interrupted and always close."""

import copy
import multiprocessing
import os
import pickle
import secrets
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, cast

import cloudpickle
import gymnasium as gym
import torch
from gymnasium.envs.registration import EnvSpec, load_env_creator
from gymnasium.vector import AsyncVectorEnv, AutoresetMode
from gymnasium.vector.async_vector_env import AsyncState, _async_worker

from yieldrl.core import derive_seed, seed_everything
from yieldrl.envs.arrays import ResetResult, StepResult
from yieldrl.envs.infos import declared_names
from yieldrl.envs.serial import CheckedEnv

PATIENCE = 600.0  # seconds without an answer until an error
GRACE = 2.0  # seconds to finish a step whose result is not needed

_main_module = threading.Lock()


class ProcessVectorEnv(AsyncVectorEnv):
    """An `AsyncVectorEnv` in SAME_STEP mode that neither hangs nor leaves workers.

    Its processes start by forkserver or spawn, never by fork: a forked process with
    threads, such as PyTorch's, may wait forever for a lock that one of them held. They
    do not run the program again, so it needs no `if __name__ == "__main__"`: functions
    are sent with cloudpickle, as are all registered environments. Each process has one
    PyTorch thread, and seeds Python's, NumPy's and PyTorch's global generators by its
    index: at its start, and at a seeded reset.

    They start as `multiprocessing.set_start_method` says, unless that is fork.

    After Ctrl-C or an error during a step, `reset` discards unread answers and begins
    new episodes, `step` before that raises an error, and `close` always returns: it
    terminates workers that do not end.

    Args:
        env_fns: Functions that make one environment each.
        seed: Seeds the workers' global generators; None for an unpredictable one.

    Raises:
        TypeError: If a function cannot be sent to another process.
        RuntimeError: If an environment could not be made in its process. At a step or
            reset, if a worker process has ended.
        TimeoutError: If making one, or an answer, takes ten minutes.
    """

    recorded_info: tuple[str, ...] = ()
    """Entries of info to store in every transition, from the environments."""

    def __init__(
        self, env_fns: Sequence[Callable[[], gym.Env]], *, seed: int | None = None
    ) -> None:
        if seed is None:
            seed = secrets.randbits(31)
        packed = {fn: _packed(fn) for fn in set(env_fns)}
        makers = [_Maker(fn, packed[fn], i, seed) for i, fn in enumerate(env_fns)]
        self.processes, self.parent_pipes = [], []
        try:
            with _without_main():
                super().__init__(
                    makers,
                    context=_start_method(),
                    worker=cast("Any", _work),
                    autoreset_mode=AutoresetMode.SAME_STEP,
                )
            (self.recorded_info, *_) = self.get_attr("declared_info")
        except BaseException:
            _end_workers(self.processes, self.parent_pipes, 0)
            self.closed = True
            raise
        self.env_fns = env_fns

    def reset(self, *, seed: Any = None, options: Any = None) -> ResetResult:
        """Start new episodes, also after an interrupted step or reset."""
        with self._naming_dead_workers():
            if self._state is not AsyncState.DEFAULT:
                self._drop_answers()
            return super().reset(seed=seed, options=options)

    def step(self, actions: Any) -> StepResult:
        """Step every environment once."""
        with self._naming_dead_workers():
            if self._state is not AsyncState.DEFAULT:
                raise RuntimeError(
                    f"a {self._state.value} of {self} was interrupted, and some of its"
                    " environments have taken it: call reset() to begin new episodes"
                )
            return super().step(actions)

    def close_extras(
        self, timeout: float | None = None, terminate: bool = False
    ) -> None:
        """End the workers, and terminate those still alive after `timeout` seconds: by
        default 30, or 2 after an interruption, or 0 with `terminate`."""
        if timeout is None:
            timeout = 30.0 if self._state is AsyncState.DEFAULT else GRACE
        _end_workers(self.processes, self.parent_pipes, 0 if terminate else timeout)

    def _poll_pipe_envs(self, timeout: float | None = None) -> bool:
        """Wait for the answers of all workers; TimeoutError after ten minutes."""
        deadline = time.monotonic() + PATIENCE
        for i, pipe in enumerate(self.parent_pipes):
            self._await(i, pipe, deadline)
        return True

    def _await(self, index: int, pipe: Any, deadline: float) -> None:
        if not pipe.poll(max(0.0, deadline - time.monotonic())):
            raise TimeoutError(
                f"environment {index} of {self}, in its process, has not answered for"
                f" {PATIENCE:.0f} s: its constructor, step or reset does not return."
                " Look for a loop or a lock in it that waits for ever"
                " (vectorization='sync' shows where, at Ctrl-C), then make the"
                " environments anew"
            )

    def _check_spaces(self) -> None:
        """Compare the spaces of all workers, which have made their environments."""
        with self._naming_dead_workers():
            self._poll_pipe_envs()
            _, successes = zip(
                *[pipe.recv() for pipe in self.parent_pipes], strict=True
            )
            self._raise_if_errors(successes)
            super()._check_spaces()

    def _drop_answers(self) -> None:
        """Read what an interrupted call left unread in the pipes."""
        token, deadline = str(time.monotonic_ns()), time.monotonic() + PATIENCE
        for pipe in self.parent_pipes:
            pipe.send(("_call", ("echo", (token,), {})))
        for i, pipe in enumerate(self.parent_pipes):
            answer = None
            while repr(answer) != repr((token, True)):  # others may hold arrays
                self._await(i, pipe, deadline)
                answer = pipe.recv()
        self._state = AsyncState.DEFAULT

    @contextmanager
    def _naming_dead_workers(self) -> Iterator[None]:
        """Replace errors about an ended worker by one with the remedy."""
        try:
            if None in self.parent_pipes:  # an earlier error ended its worker
                raise EOFError
            yield
        except (EOFError, BrokenPipeError, ConnectionResetError):
            for process in self.processes:
                process.join(0.1)  # so that its exit code is known
            dead = [i for i, p in enumerate(self.processes) if not p.is_alive()]
            codes = [self.processes[i].exitcode for i in dead]
            raise RuntimeError(
                f"the worker processes {dead} of {self} have ended (exit codes"
                f" {codes}): an error, a crash, or they were killed, for example for"
                " memory, of which fewer num_envs need less. Make the environments anew"
                " (a new trainer can load the latest checkpoint);"
                " vectorization='sync' makes and steps them in this process"
            ) from None


class _Maker:
    """Makes an environment: with `make` in this process, and in a process of its own
    from `packed`, after setting it up like the program."""

    def __init__(self, make: Any, packed: bytes, index: int, seed: int) -> None:
        self.make, self.packed, self.index, self.seed = make, packed, index, seed

    def __getstate__(self) -> dict[str, Any]:
        program = dict(os.environ), torch.get_default_dtype()
        return {**vars(self), "make": None, "program": program}

    def __call__(self) -> gym.Env:
        if self.make is not None:
            return self.make()
        environ, dtype = vars(self)["program"]
        os.environ.update(environ)
        # Processes share the cores: more threads would slow each other down.
        torch.set_num_threads(1)
        torch.set_default_dtype(dtype)
        make, specs = pickle.loads(self.packed)
        gym.registry.update(specs)
        seed_everything(derive_seed(self.seed, f"worker {self.index}"))
        return WorkerEnv(make(), self.index)


def _packed(make: Callable[[], gym.Env]) -> bytes:
    """A pickled function and the registered environments: the process of its own never
    runs the program, which defines them."""
    specs: dict[str, EnvSpec] = {}
    for name, spec in gym.registry.items():
        spec = copy.copy(spec)
        with suppress(Exception):  # not this one; an error follows if it is needed
            if str(spec.entry_point).startswith("__main__:"):
                spec.entry_point = cast("Any", load_env_creator(str(spec.entry_point)))
            if callable(spec.entry_point):
                cloudpickle.dumps(spec)
            specs[name] = spec
    try:
        return cloudpickle.dumps((make, specs))
    except Exception as reason:  # objects may raise any error
        raise TypeError(
            f"what makes the environments cannot be sent to a process of their own"
            f" ({type(reason).__name__}: {reason}): open connections, files, locks and"
            " simulators inside of the function or the environment's constructor, or"
            " set vectorization='sync'"
        ) from reason


class WorkerEnv(CheckedEnv):
    """An environment in its process: checks what it returns, before shared memory would
    cast it, and copies the last results of an episode, which a reset may overwrite."""

    def __init__(self, env: gym.Env, index: int) -> None:
        super().__init__(env, index)
        self.declared_info = declared_names(env, "recorded_info")

    def reset(self, *, seed: Any = None, options: Any = None) -> ResetResult:
        """Begin an episode; a seed seeds the global generators of the process, too."""
        if seed is not None:
            seed_everything(derive_seed(int(seed), "worker"))
        return super().reset(seed=seed, options=options)

    def step(self, action: Any) -> StepResult:
        obs, reward, terminated, truncated, info = super().step(action)
        self.checked(obs)
        if terminated or truncated:
            obs, info = copy.deepcopy((obs, info))
        return obs, reward, terminated, truncated, info

    def echo(self, token: Any) -> Any:
        return token


class _Errors:
    """The error queue in a worker. Errors name the environment, and are of classes that
    every process has: others cannot be sent, and would be waited for in vain."""

    def __init__(self, queue: Any, env: WorkerEnv) -> None:
        self.queue, self.env = queue, env

    def put(self, report: tuple[int, type[Exception], Exception, str]) -> None:
        index, kind, error, trace = report
        text = str(error.args[0] if len(error.args) == 1 else error)
        if f"environment {index}" not in text:
            text += f" (in environment {index}, at step {self.env.steps})"
        if kind.__module__ != "builtins":
            text = f"{kind.__name__}: {text}"
            kinds = (k for k in (ValueError, TypeError) if issubclass(kind, k))
            kind = next(kinds, RuntimeError)
        self.queue.put((index, kind, text, trace))


def _work(index: int, make: _Maker, pipe: Any, *rest: Any) -> None:
    """Gymnasium's worker; its first answer says whether the environment was made."""
    parent, memory, queue, *modes = rest
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # handled by the trainer
    threading.Thread(target=_end_with_the_trainer, daemon=True).start()
    try:
        env = cast("WorkerEnv", make())
    except BaseException as error:
        message = (
            f"environment {index} could not be made in a process of its own:"
            f" {type(error).__name__}: {error}. What it needs must be importable and"
            " open to every process; vectorization='sync' makes it in this process"
        )
        queue.put((index, RuntimeError, message, traceback.format_exc()))
        pipe.send((None, False))
        return
    pipe.send((None, True))
    errors: Any = _Errors(queue, env)
    _async_worker(index, lambda: env, pipe, parent, memory, errors, *modes)


def _end_with_the_trainer() -> None:
    """End this process as soon as the process that started it has ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _start_method() -> str:
    """Forkserver or spawn: the program's choice, or the one that suits the platform."""
    chosen = multiprocessing.get_start_method(allow_none=True)
    if chosen in (None, "fork"):
        chosen = "forkserver" if sys.platform == "linux" else "spawn"
    if chosen == "forkserver":
        # Imported once, before the first process starts. `__main__` is the default.
        multiprocessing.set_forkserver_preload(["__main__", __name__])
    return chosen


@contextmanager
def _without_main() -> Iterator[None]:
    """Keep new processes from running the program again, which would train there; its
    code is pickled by value. `multiprocessing` imports the main module by one of
    these two attributes."""
    main = sys.modules["__main__"]
    names = ("__file__", "__spec__")
    with _main_module:  # one thread at a time
        kept = {name: vars(main)[name] for name in names if name in vars(main)}
        vars(main).pop("__file__", None)
        main.__spec__ = None
        try:
            yield
        finally:
            vars(main).update(kept)


def _end_workers(
    processes: Sequence[Any], pipes: Sequence[Any], timeout: float
) -> None:
    """End processes; kill those still alive after the given seconds."""
    deadline = time.monotonic() + timeout
    pipes = [pipe for pipe in pipes if pipe is not None]
    for pipe in pipes:
        with suppress(OSError):  # it has ended already
            pipe.send(("close", None))
    started = [process for process in processes if process.pid is not None]
    for process in started:
        process.join(max(0.0, deadline - time.monotonic()))
    for end in ("terminate", "kill"):
        alive = [process for process in started if process.is_alive()]
        for process in alive:
            getattr(process, end)()
        for process in alive:
            process.join(GRACE)
    for pipe in pipes:
        pipe.close()
