"""Start processes of environments without running the program, and end them."""

import multiprocessing
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

START = 300.0  # seconds for a process to start and to make its environment
GRACE = 2.0  # seconds to finish a step whose result is not needed

_hidden = threading.Lock()


def start_method(wanted: str | None = None) -> str:
    """Forkserver or spawn: as `wanted`, or the default of program or platform."""
    methods = multiprocessing.get_all_start_methods()  # first the platform's default
    allowed = [method for method in methods if method != "fork"]
    if wanted is not None and wanted not in allowed:
        raise ValueError(f"context = {wanted!r}: choose one of {allowed}, or None")
    chosen = wanted or multiprocessing.get_start_method(allow_none=True) or methods[0]
    if chosen == "fork":
        chosen = "forkserver" if "forkserver" in methods else "spawn"
    if chosen == "forkserver":
        # Imported once, before the first process starts. `__main__` is the default.
        preloaded = ["__main__", "yieldrl.envs.worker"]
        multiprocessing.set_forkserver_preload(preloaded)
    return chosen


@contextmanager
def without_main() -> Iterator[None]:
    """Keep new processes from running the program again, which would train there; its
    code is pickled by value. `multiprocessing` imports the main module by one of
    these two attributes."""
    main = sys.modules["__main__"]
    names = ("__file__", "__spec__")
    with _hidden:  # one thread at a time
        kept = {name: vars(main)[name] for name in names if name in vars(main)}
        vars(main).pop("__file__", None)
        main.__spec__ = None
        try:
            yield
        finally:
            vars(main).update(kept)


def await_start(pipe: Any, process: Any, name: str, deadline: float) -> None:
    """Wait until a process has made the environment `name`, or raise."""
    here = "vectorization='sync' makes it in this process"
    if not pipe.poll(deadline - time.monotonic()):
        raise TimeoutError(
            f"{name} was not made within {START:.0f} s in a process of its own: its"
            f" constructor waits for something, or takes longer; {here}, where Ctrl-C"
            " shows what it does"
        )
    try:
        pipe.awaited += 1
        failure = pipe.recv()
    except (EOFError, ConnectionResetError):
        process.join(GRACE)
        raise RuntimeError(
            f"{name} was not made: the process of its own ended before (exit code"
            f" {process.exitcode}). It crashed, was killed, or memory ran out; {here},"
            " and fewer num_envs need less memory"
        ) from None
    if failure is not None:
        short, told = failure
        raise RuntimeError(
            f"{name} could not be made in a process of its own: {short}. What it needs"
            f" must be importable and open to every process; {here}.\n\nThere:\n{told}"
        )


def end_workers(
    processes: Sequence[Any], connections: Sequence[Any], timeout: float
) -> None:
    """End processes; kill those still alive after the given seconds."""
    deadline = time.monotonic() + timeout
    pipes = [pipe for pipe in connections if pipe is not None and not pipe.closed]
    started = [process for process in processes if process.pid is not None]
    for pipe in pipes:
        with suppress(OSError):  # it has ended already
            pipe.send(("close", None))
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
