"""Call functions in fresh Python processes, so that no run can disturb another.

A child runs `python -m yieldrl.benchmarks.subprocesses MODULE FUNCTION ARGUMENTS`:
arguments arrive as JSON, and the last line that it prints is the result as JSON. It
starts in an empty folder: there `yieldrl` can only be the installed package, and what
libraries leave behind (MuJoCo's log) goes with it.
"""

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def call(function: Callable[..., Any], threads: int, **arguments: Any) -> Any:
    """Call a function at the top of a module in a process of its own; arguments and
    answer are JSON, `threads` those of OpenMP, BLAS and thereby PyTorch.

    Raises:
        RuntimeError: If the child failed; the message ends with its traceback.
    """
    module = function.__module__
    if module == "__main__":  # of a script, which has this name alone while it runs
        module = f"yieldrl.{script()}"
    words = "-m", __name__, module, function.__qualname__, json.dumps(arguments)
    return answer([sys.executable, *words], threads)


def answer(command: Sequence[str], threads: int, **variables: str) -> Any:
    """What a command prints last, as JSON; with more variables of its environment."""
    pools = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    env = os.environ | dict.fromkeys(pools, str(threads)) | variables
    with tempfile.TemporaryDirectory() as folder:
        child = subprocess.run(
            command, cwd=folder, env=env, capture_output=True, text=True
        )
    if child.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{child.stderr[-4000:]}")
    return json.loads(child.stdout.splitlines()[-1])


def script() -> str:
    """The module that runs as a program, by its name below the package."""
    main: Any = sys.modules["__main__"]
    return main.__spec__.name.removeprefix("yieldrl.")


def each(
    function: Callable[..., Any], cases: Sequence[Mapping[str, Any]], jobs: int
) -> list[Any]:
    """What a function answers for every case, in their order; each has a process of its
    own, `jobs` at a time."""

    def one(case: Mapping[str, Any]) -> Any:
        answer = call(function, 1, **case)
        print(", ".join(f"{k} {v}" for k, v in case.items()), "done", flush=True)
        return answer

    with ThreadPoolExecutor(jobs) as pool:
        return [*pool.map(one, cases)]


if __name__ == "__main__":
    asked = getattr(importlib.import_module(sys.argv[1]), sys.argv[2])
    print(json.dumps(asked(**json.loads(sys.argv[3]))))
