"""Functions of tensors on a GPU, recorded once as CUDA graphs and then replayed.

To launch a small operation takes a GPU's host longer than the operation itself. A graph
has hundreds of them and is launched as one: Python does not run again, and every tensor
stays where it was.
"""

import logging
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor
from torch.nn import Module

from yieldrl.core.trees import PLAIN, map_tensors

log = logging.getLogger("yieldrl.compile")

MOST = 8
"""Graphs of one function, for other shapes or values; more are not worth their time."""


class Recorded:
    """A function that is recorded at its third call, and replayed from then on.

    Two calls run as they are. The first one makes what is made once, such as compiled
    code. The second one is watched, whether the function may be recorded at all: it
    must not wait for the device, nor change attributes of `owners` to other things than
    tensors of the same layout. If it may not, a line in the log `yieldrl.compile` says
    why, and it runs as it is for ever. Before each replay the attributes of `owners`
    are compared: where one is another number or another object, and for inputs of
    other shapes, it is recorded again. What Python does besides, and what changes
    inside of attributes, is not seen.

    Args:
        name: What the function does, for the log.
        function: Of tensors, nested or not, to tensors; it may write in place.
        owners: Objects whose attributes it reads and replaces. Of modules among these
            attributes numbers and text are looked at too.
        generators: Its random generators. PyTorch's global one is known anyway.
        state: Numbers, tuples of these, and objects that must be the same too.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        *,
        owners: tuple[Any, ...] = (),
        generators: Iterable[torch.Generator] = (),
        state: Callable[[], Iterable[Any]] = tuple,
    ) -> None:
        self.name, self.function, self.owners = name, function, owners
        self.generators, self.state = tuple(generators), state
        self.refused = ""  # why it is not recorded
        self._carried: set[tuple[int, str]] = set()  # attributes that it replaces
        self._seen: set[Any] = set()  # keys for which it ran once
        self._watched: set[Any] = set()  # and again
        self._graphs: dict[Any, Graph] = {}

    def __call__(self, *inputs: Any) -> Any:
        """The results; those of a replay are valid until the next call."""
        if self.refused:
            return self.function(*inputs)
        key = self._key(inputs)
        if key not in self._seen:
            result = self.function(*inputs)
            self._seen.add(self._key(inputs))
            return result
        if key not in self._watched:
            return self._watch(inputs)
        if key not in self._graphs:
            if len(self._graphs) == MOST:
                self._refuse(f"its shapes or values have changed {MOST} times")
                return self.function(*inputs)
            try:
                self._graphs[key] = Graph(self, inputs)
            except Exception as reason:  # a mistake is one without a graph too
                self._refuse(str(reason).partition("\n")[0])
                return self.function(*inputs)
            log.warning("%s: recorded as a CUDA graph", self.name)
        return self._graphs[key].replay(inputs)

    def carried(self) -> list[tuple[Any, str, Any]]:
        """The attributes that the function replaces: owner, name and value."""
        places = [(self.owners[number], name) for number, name in self._carried]
        return [(owner, name, getattr(owner, name)) for owner, name in places]

    def _watch(self, inputs: tuple[Any, ...]) -> Any:
        """Run the function, and note whether and how it may be recorded."""
        before = self._attributes()
        with noticed_waits() as waits:
            result = self.function(*inputs)
        after = self._attributes()
        reasons = [f"it waits for the GPU: {place}" for place in waits]
        for place in before.keys() | after.keys():
            old, new = before.get(place), after.get(place)
            if old is new or (isinstance(new, PLAIN) and old == new):
                continue
            if old is None or not _tensors(new) or _layout(old) != _layout(new):
                number, name = place
                kind = type(self.owners[number]).__name__
                reasons.append(f"it changes {kind}.{name}, which a replay would not")
            self._carried.add(place)
        if reasons:
            self._refuse(reasons[0])
        self._watched.add(self._key(inputs))
        return result

    def _attributes(self) -> dict[tuple[int, str], Any]:
        owners = enumerate(self.owners)
        return {(i, k): x for i, owner in owners for k, x in vars(owner).items()}

    def _key(self, inputs: tuple[Any, ...]) -> Any:
        """What a graph was recorded for: it is of no use for anything else."""
        attributes, carried = self._attributes(), self._carried
        kept = ((k, _same(x)) for k, x in attributes.items() if k not in carried)
        inside = self._inside([*self.owners, *attributes.values()])
        return _layout(inputs), *kept, *inside, *map(_same, self.state())

    def _inside(self, parts: list[Any]) -> list[Any]:
        """The numbers and text of all modules, such as `training`, and those numbers
        among their buffers that stay on the CPU, for the host to read."""
        found: dict[Module, None] = {}
        ahead = [part for part in parts if isinstance(part, Module)]
        while ahead:
            if (module := ahead.pop()) not in found:
                found[module] = None
                ahead += module.children()
        buffers = (x for module in found for x in module.buffers(recurse=False))
        return [
            *(x for y in found for x in vars(y).values() if isinstance(x, PLAIN)),
            *(x.item() for x in buffers if x.is_cpu and x.ndim == 0),
        ]

    def _refuse(self, reason: str) -> None:
        self.refused, self._graphs = reason, {}
        log.warning("%s: not recorded as a CUDA graph: %s", self.name, reason)

    def __getstate__(self) -> dict[str, Any]:
        """The state of a copy, which records for itself."""
        anew = {"_graphs": {}, "_seen": set(), "_watched": set(), "_carried": set()}
        return {**vars(self), **anew}


class Graph:
    """A recorded function, with the memory of its inputs and its results."""

    def __init__(self, recorded: Recorded, inputs: tuple[Any, ...]) -> None:
        self.inputs = tuple(
            x.clone() if isinstance(x, TensorDict) else map_tensors(Tensor.clone, x)
            for x in inputs
        )
        self.carried = recorded.carried()
        # What was compared lives as long as the graph, so that no other has its id.
        owners = [vars(owner).copy() for owner in recorded.owners]
        self.compared = [*recorded.state()], owners
        self.graph = torch.cuda.CUDAGraph()
        for generator in recorded.generators:
            self.graph.register_generator_state(generator)
        try:
            with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
                self.results = recorded.function(*self.inputs)
                self._keep()
        finally:
            for owner, name, memory in self.carried:
                setattr(owner, name, memory)

    def replay(self, inputs: tuple[Any, ...]) -> Any:
        """Run what was recorded, on other numbers."""
        with torch.inference_mode():  # which writes into tensors of any kind
            _copy(self.inputs, inputs)
        self._keep()
        for owner, name, memory in self.carried:
            setattr(owner, name, memory)
        self.graph.replay()
        return self.results

    def _keep(self) -> None:
        """Copy what attributes are now to where the graph reads them."""
        with torch.inference_mode():
            for owner, name, memory in self.carried:
                _copy(memory, getattr(owner, name))


@contextmanager
def noticed_waits() -> Iterator[list[str]]:
    """A context that lists where this thread waits for a GPU, as PyTorch warns of it.

    Another thread may collect meanwhile, and wait as it likes.
    """
    waits: list[str] = []
    others: list[tuple[Any, ...]] = []
    here, before = threading.get_ident(), torch.cuda.get_sync_debug_mode()

    def note(*said: Any) -> None:
        if "synchronizing CUDA operation" in str(said[0]):
            if threading.get_ident() == here:
                waits.append(f"{said[2]}, line {said[3]}")
        elif not str(said[0]).startswith("Synchronization debug mode"):
            others.append(said[:4])

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = note
        torch.cuda.set_sync_debug_mode("warn")
        try:
            yield waits
        finally:
            torch.cuda.set_sync_debug_mode(before)
    for said in others:
        warnings.warn_explicit(*said)


def _same(value: Any) -> Any:
    """What is equal for the same numbers or the same object."""
    if isinstance(value, tuple):
        return tuple(map(_same, value))
    return value if isinstance(value, PLAIN) else id(value)


def _pairs(tree: Any) -> list[tuple[Any, Any]]:
    return [*(enumerate(tree) if isinstance(tree, tuple) else tree.items())]


def _copy(memory: Any, tree: Any) -> None:
    """Copy the tensors of a tree into those of another one."""
    if memory is tree:
        return
    if isinstance(memory, Tensor):
        memory.copy_(tree)
    elif isinstance(memory, tuple | Mapping):
        for name, part in _pairs(memory):
            _copy(part, tree[name])


def _layout(tree: Any) -> Any:
    """Shapes and dtypes of a tree of tensors, and its other values."""
    if isinstance(tree, Tensor):
        return tree.shape, tree.dtype, tree.device
    if isinstance(tree, tuple | Mapping):
        return tuple((name, _layout(part)) for name, part in _pairs(tree))
    return tree


def _tensors(tree: Any) -> bool:
    """Whether something is tensors, nested or not, and nothing else."""
    if isinstance(tree, tuple | Mapping):
        return all(_tensors(part) for _, part in _pairs(tree))
    return isinstance(tree, Tensor)
