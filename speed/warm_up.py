"""A process beside training that fills PyTorch's cache and measures the gain."""

import copy
import json
import os
import pickle
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

import cloudpickle
import torch

from yieldrl.foundations import compile_cache
from yieldrl.speed import pytorch


class WarmUp:
    """The process; it gets copies of functions that have an example, and compiles them.

    Attributes:
        found: Of each function, in time, the seconds that a call gains and those to
            load its code; or why it cannot be compiled.
        ended: None until the process has ended; then why it failed, or "".
    """

    def __init__(self, functions: Sequence[Any]) -> None:
        compile_cache.prepare()
        first = sorted(functions, key=lambda f: f.name, reverse=True)  # gradient steps
        task = [(f, f.example()) for f in first if f.example is not None]
        asked = pickle.dumps((sys.path, torch.get_num_threads()))
        asked += cloudpickle.dumps(task)
        self.found: dict[str, Any] = {}
        self.ended: str | None = None
        threading.Thread(target=self._run, args=[asked], daemon=True).start()

    def _run(self, asked: bytes) -> None:
        """Run the process, and listen to it."""
        words = [sys.executable, "-m", "yieldrl.speed.warm_up", str(os.getpid())]
        said, pipe, same = b"no word", subprocess.PIPE, subprocess.STDOUT
        try:
            start: Any = subprocess.Popen
            with start(words, stdin=pipe, stdout=pipe, stderr=same) as process:
                process.stdin.write(asked)
                process.stdin.close()
                for said in process.stdout:
                    if said.startswith(b'{"'):
                        self.found |= json.loads(said)
            reason = said.decode(errors="replace").strip()[:200]
            self.ended = f"the compiler failed: {reason}" if process.returncode else ""
        except (OSError, ValueError) as error:
            self.ended = f"the compiler failed: {error}"


def main() -> None:
    """Compile what standard input holds; print what was found, in lines of JSON."""
    if hasattr(os, "nice"):
        os.nice(10)  # 10 % of a busy core; 19 would starve it
    threading.Thread(target=_end_with, args=[int(sys.argv[1])], daemon=True).start()
    path, threads = pickle.load(sys.stdin.buffer)
    sys.path[:] = path
    torch.set_num_threads(threads)
    for function, args in pickle.load(sys.stdin.buffer):
        try:
            found: Any = measure(function, args)
        except Exception as error:
            found = pytorch.said_by(error)
        print(f"\n{json.dumps({function.name: found})}", flush=True)


def measure(function: Any, args: tuple[Any, ...]) -> tuple[float, float]:
    """Compile a function, then again from the cache: see `WarmUp.found`."""
    with function.around():
        copy.copy(function)(*args)
        torch.compiler.reset()
        began = time.perf_counter()
        function.coded(*args)
        load = time.perf_counter() - began
        gain = seconds_of(function.eager, args) - seconds_of(function.coded, args)
    return gain, load


def seconds_of(call: Any, args: tuple[Any, ...]) -> float:
    """Seconds of a call as in training, where other work has been done before it.

    In a loop of nothing else small functions take a third of that: all that they touch
    stays in the processor's caches, which flatters code with many checks.
    """
    others, took = torch.zeros(2**20), []
    while len(took) < 20 or (sum(took) < 0.3 and len(took) < 300):
        others.add_(1)
        began = time.perf_counter()
        call(*args)
        took.append(time.perf_counter() - began)
    return statistics.median(took)


def _end_with(parent: int) -> None:
    """End this process when the one that started it ends, however that ends."""
    while os.name == "nt" or os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


if __name__ == "__main__":
    main()
