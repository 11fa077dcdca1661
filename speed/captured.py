"""A graph of operations, recorded once on a GPU and replayed as a whole (CUDA graph).

A replay starts all kernels with one call, where an eager step starts each of them from
Python: for narrow networks that is most of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from yieldrl.speed.graph import Graph

Run = Callable[[], list[Tensor]]
"""What is recorded; it returns its results."""

WARM_UPS = 3
"""Calls before the recording, in which libraries choose their algorithms."""


class Captured:
    """A graph's function as a recording.

    What it takes is copied to where it was recorded, unless it lies there already, as
    parameters and moments do; what it writes into its arguments is copied back. Results
    are copies, because the next replay writes over its own.

    Args:
        graph: The operations.
        tensors: Arguments of the layouts that it is for, without `graph.captured`. They
            stay as they are.
        fixed: How many of them, the first ones, lie in their places for good.
    """

    def __init__(self, graph: Graph, tensors: list[Tensor], *, fixed: int = 0) -> None:
        self._captured = graph.captured
        arguments = [*tensors, *graph.captured]
        practice = [x.clone() for x in arguments]
        before = [x._version for x in practice]
        with torch.no_grad():
            for _ in range(WARM_UPS):
                graph.operations(*practice)
        now = [x._version for x in practice]
        self._written = {i for i, old in enumerate(before) if now[i] != old}
        moving = range(fixed, len(tensors))
        self._own = [practice[i] if i in moving else x for i, x in enumerate(arguments)]
        kept = [(self._own[i], self._own[i].clone()) for i in self._written]
        self._replay, self._results = record_cuda_graph(
            lambda: graph.operations(*self._own)
        )
        for own, numbers in kept:  # to record may be to run
            own.copy_(numbers)

    def __call__(self, tensors: list[Tensor]) -> list[Tensor]:
        """What the graph's function returns; it writes where that one does."""
        moved: list[tuple[Tensor, Tensor]] = []
        arguments = [*tensors, *self._captured]
        for i, (given, own) in enumerate(zip(arguments, self._own, strict=True)):
            if given.data_ptr() == own.data_ptr():
                continue
            own.copy_(given, non_blocking=True)
            if i in self._written:
                moved.append((given, own))
        self._replay()
        for given, own in moved:
            given.copy_(own, non_blocking=True)
        return [result.clone() for result in self._results]


def record_cuda_graph(run: Run) -> tuple[Callable[[], None], list[Tensor]]:
    """Record a function of tensors on the current GPU.

    Returns:
        What replays it, and the tensors that a replay writes into.
    """
    cuda: Any = torch.cuda
    cuda.synchronize()
    recording = cuda.CUDAGraph()
    with torch.no_grad(), cuda.graph(recording):
        results = run()
    return recording.replay, results
