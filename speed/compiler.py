"""Graphs become machine code, in a process beside the one that trains."""

from __future__ import annotations

import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import time
import weakref
from pathlib import Path
from typing import IO, Any

import torch
from torch import Tensor

from yieldrl.speed import library
from yieldrl.speed.graph import Graph

LOOK_EVERY = 0.2
"""Seconds between looks at whether a compiler has finished."""

MOST_SAID = 200
"""Characters of what a compiler that failed has said."""

_RAISED = re.compile(r"[\w.]+(Error|Exception|Interrupt)\b")

_STARTED: weakref.WeakSet[Compilation] = weakref.WeakSet()
"""One is compiled at a time: training has a core too."""


def missing_compiler() -> str | None:
    """What to say where nothing can be compiled; None where it can."""
    if shutil.which("g++") or shutil.which("clang++"):
        return None
    return "there is no C++ compiler (g++ or clang++): install one to train faster"


class Compiled:
    """A graph in machine code.

    Args:
        path: Where it lies.
        captured: The last of its arguments.
    """

    def __init__(self, path: Path, captured: list[Tensor]) -> None:
        library.used(path)
        # Inside `torch._inductor.aoti_load_package`, which takes a second to import.
        native: Any = torch._C
        loader = native._aoti.AOTIModelPackageLoader
        self._runner = loader(str(path), "model", False, 1, -1)
        self._captured = captured

    def __call__(self, tensors: list[Tensor]) -> list[Tensor]:
        """What the graph's function returns; it writes where that one does."""
        return self._runner.boxed_run([*tensors, *self._captured])


class Compilation:
    """A graph that is compiled, or waits for its turn.

    Args:
        graph: What to compile.

    Attributes:
        failure: Why there is no compiled code; None as long as there may be.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.path = library.path_of(graph.key)
        self.failure: str | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None
        self._look_at = 0.0

    @property
    def kept(self) -> bool:
        """Whether it was compiled before."""
        return self.path.exists()

    def poll(self) -> Compiled | None:
        """The compiled code, once it is there; looks from time to time."""
        now = time.monotonic()
        if now < self._look_at:
            return None
        self._look_at = now + LOOK_EVERY
        if self.kept:
            return self._loaded()
        if self._process is None:
            if not any(other.running for other in _STARTED):
                self.start()
        elif self._process.poll() is not None:
            self._end()
            return self._loaded() if self.failure is None else None
        return None

    def wait(self) -> Compiled | None:
        """The compiled code, however long it takes; None if it failed."""
        while self.failure is None:
            self._look_at = 0.0
            if (compiled := self.poll()) is not None:
                return compiled
            time.sleep(LOOK_EVERY / 4)
        return None

    def start(self) -> None:
        """Start the process that compiles."""
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 (read when it has ended)
        threads = str(torch.get_num_threads())
        with tempfile.TemporaryFile() as asked:
            graph = self.graph
            pickle.dump((graph.operations, graph.layouts, str(self.path)), asked)
            asked.seek(0)
            self._process = subprocess.Popen(
                [sys.executable, "-m", "yieldrl.speed.compiling", threads],
                stdin=asked,
                stdout=subprocess.DEVNULL,
                stderr=self._said,
            )
        # At the latest when Python ends.
        weakref.finalize(self, _stop, self._process, self._said)
        _STARTED.add(self)

    @property
    def running(self) -> bool:
        """Whether its process is at work."""
        return self._process is not None and self._process.poll() is None

    def _end(self) -> None:
        assert self._process is not None
        assert self._said is not None
        if self._process.returncode != 0 or not self.kept:
            self._said.seek(0)
            lines = self._said.read().decode(errors="replace").strip().splitlines()
            raised = [line for line in lines if _RAISED.match(line)]
            status = f"status {self._process.returncode}"
            self.failure = (raised or lines or [status])[-1][:MOST_SAID]
        self._said.close()

    def _loaded(self) -> Compiled | None:
        try:
            return Compiled(self.path, self.graph.captured)
        except RuntimeError as reason:  # a file that another machine broke off, say
            self.failure = str(reason).splitlines()[0]
            self.path.unlink(missing_ok=True)
            return None


def _stop(process: subprocess.Popen[bytes], said: IO[bytes]) -> None:
    """End a compiler that nobody waits for any more."""
    if process.poll() is None:
        process.kill()
    process.wait()
    said.close()
