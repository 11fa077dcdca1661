"""Several tasks at a time: in this process, in others, or on Ray."""

import importlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from typing import Any


def spread(
    function: Callable[..., Any],
    tasks: Iterator[tuple[Any, ...]],
    executor: Any,
    jobs: int,
) -> Generator[tuple[Any, Any], None, None]:
    """Key and result of each task `(key, *arguments)`, `jobs` of them at a time.

    A task is taken from the iterator when somebody is free for it. Without an executor,
    of `workers`, this process does one after the other.
    """
    running: dict[Future[Any], Any] = {}
    while True:
        while len(running) < jobs and (task := next(tasks, None)) is not None:
            key, *arguments = task
            if executor is None:
                yield key, function(*arguments)
            else:
                running[executor.submit(function, *arguments)] = key
        if not running:
            return
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            yield running.pop(future), future.result()


@contextmanager
def workers(
    jobs: int, ray_address: str | None = None, *, gpu: bool = False
) -> Iterator[Any]:
    """The executor of `jobs` tasks at a time: None, processes, or tasks of Ray.

    They end with the context, and with this process if it is killed.
    """
    if ray_address is not None:
        cluster = importlib.import_module("yieldrl.distributed.cluster").Cluster
        made = cluster(ray_address, {"jobs": jobs}, gpus=gpu)
        try:
            yield _OnRay(made.ray, gpu)
        finally:
            made.close()
    elif jobs == 1:
        yield None
    else:
        others = {*multiprocessing.active_children()}
        spawn = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(jobs, spawn, initializer=_end_with_parent)
        try:
            yield pool
        finally:
            for child in {*multiprocessing.active_children()} - others:
                child.kill()
            pool.shutdown(cancel_futures=True)


class _OnRay:
    def __init__(self, ray: Any, gpu: bool) -> None:
        self._remote = ray.remote(num_cpus=1, num_gpus=int(gpu), max_retries=0)

    def submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        return self._remote(function).remote(*args).future()


def _end_with_parent() -> None:
    """Leave Ctrl-C to the parent, and end if that is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
