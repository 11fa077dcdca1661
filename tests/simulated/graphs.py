"""CUDA graphs of the simulated device: operations are recorded, and run at a replay.

As on a GPU, nothing is computed while a graph is recorded; a replay works on the memory
of then, runs no Python, and draws from the generators that were registered.
"""

import warnings
from contextlib import contextmanager
from typing import ClassVar

import simulated.device
import torch
from simulated.device import GRAPHS, SimTensor
from torch.utils import _pytree as pytree

MODE = ["default"]


class Graph:
    """Recorded operations on plain tensors, which are the memory of simulated ones."""

    made: ClassVar = []

    def __init__(self):
        self.operations, self.generators = [], []
        self.replays = 0
        self.made.append(self)

    def register_generator_state(self, generator):
        self.generators.append(generator)

    def launch(self, function, args, kwargs):
        known = [generator._cdata for generator in self.generators]
        for x in pytree.tree_leaves((args, kwargs)):
            if isinstance(x, torch.Generator) and x._cdata not in known:
                raise RuntimeError("a generator that is not registered with the graph")
            if isinstance(x, torch.Tensor):
                memory = x.untyped_storage()
                before = memory.data_ptr(), (memory, memory.clone())
                self.memory.setdefault(*before)
        result = function(*args, **kwargs)
        inferring = torch.is_inference_mode_enabled()
        self.operations.append((inferring, function, args, kwargs, result))
        return result

    def begin(self):
        self.memory = {}  # of before, by address
        drawn = [*self.generators, torch.default_generator]
        self.drawn = [(one, one.get_state()) for one in drawn]
        GRAPHS.append(self)

    def end(self):
        GRAPHS.clear()
        for memory, content in self.memory.values():
            memory.copy_(content)
        for generator, state in self.drawn:
            generator.set_state(state)

    def replay(self):
        self.replays += 1
        for inferring, function, args, kwargs, result in self.operations:
            with torch.no_grad(), torch.inference_mode(inferring):
                again = pytree.tree_leaves(function(*args, **kwargs))
            with torch.inference_mode():  # which writes into tensors of any kind
                for old, new in zip(pytree.tree_leaves(result), again, strict=True):
                    if isinstance(old, torch.Tensor) and old is not new:
                        old.copy_(new)


@contextmanager
def record(graph, capture_error_mode="global"):
    graph.begin()
    try:
        yield
    finally:
        graph.end()


def wait(name, note=simulated.device.wait):
    note(name)
    if MODE[0] == "warn":
        warnings.warn("called a synchronizing CUDA operation", stacklevel=4)


def set_sync_debug_mode(mode):
    MODE[0] = mode


def install(monkeypatch):
    """Let PyTorch's public functions record graphs of the simulated device."""
    from yieldrl.core import compiled, runtime

    Graph.made.clear()
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "graph", record)
    monkeypatch.setattr(torch.cuda, "get_sync_debug_mode", lambda: MODE[0])
    monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", set_sync_debug_mode)
    monkeypatch.setattr(simulated.device, "wait", wait)
    monkeypatch.setattr(runtime, "GRAPHS", ("sim",))
    plain = lambda self, *args: self.function(*args)  # noqa: E731 - no compiler for it
    monkeypatch.setattr(compiled.Compiled, "__call__", plain)
    return Graph.made


__all__ = ["SimTensor", "install"]
