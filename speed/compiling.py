"""The process that compiles a graph: `python -m yieldrl.speed.compiling THREADS`.

It reads the graph from its standard input and writes a file that appears whole, or not
at all. It is of lower priority than the training that it serves, and ends with it.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
import torch._dynamo  # what compiles takes for granted that it was imported

from yieldrl.speed import library
from yieldrl.speed.graph import Layout

LOOK_EVERY = 0.5
"""Seconds between looks at whether the training is still there."""


def compile_graph(operations: Any, layouts: list[Layout], path: Path) -> None:
    """Write machine code for a graph to a file."""
    tensors = tuple(
        torch.empty_strided(shape, stride, dtype=dtype, device=device).zero_()
        for shape, stride, dtype, device in layouts
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.pt2")
    try:
        with torch.no_grad():
            program = torch.export.export(operations, tensors)
            torch._inductor.aoti_compile_and_package(
                program, package_path=str(unfinished), inductor_configs=library.OPTIONS
            )
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    library.tidy()


def end_with(parent: int) -> None:
    """Wait until another process takes care of this one; then end, without a word.

    A training that is killed has no time to end its compiler. On Windows nobody takes
    over, and this waits for ever.
    """
    while os.getppid() == parent:
        time.sleep(LOOK_EVERY)
    os._exit(1)


def main(threads: str) -> None:
    """Compile what is read."""
    threading.Thread(target=end_with, args=[os.getppid()], daemon=True).start()
    with suppress(AttributeError, OSError):  # where there is no such thing
        os.nice(10)
    warnings.filterwarnings("ignore")  # of libraries, about one another
    torch.set_num_threads(int(threads))
    operations, layouts, path = pickle.load(sys.stdin.buffer)
    compile_graph(operations, layouts, Path(path))


if __name__ == "__main__":
    main(*sys.argv[1:])
