"""What PyTorch's guards leave out (seen in 2.13) is looked after here, or not compiled.

They hold values: attributes, globals, closures, modules, shapes. They do not hold the
methods of classes, which a notebook may replace; nor that a name or a key is missing,
where code finds that out by an exception; nor Python's random numbers, variables of the
environment, and functions with a cache.
"""

import contextlib
import dis
import enum
import functools
import importlib.util
import inspect
import itertools
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType
from typing import Any

from yieldrl.speed import pytorch

# By its place, not by an import: who has worlds alone needs no TensorDict.
_SPECS: Any = map(importlib.util.find_spec, ("torch", "tensordict"))
_LIBRARIES = [f"{Path(spec.origin).parent}{os.sep}" for spec in _SPECS]
_TRUSTED = *_LIBRARIES, contextlib.__file__, enum.__file__


class NotCompiledError(Exception):
    """A function could not be compiled; nothing has been done."""


class Guards:
    """Notes what was compiled, and says when it is no longer what would be.

    `backend` and `look` are for `torch.compile`, as its backend and its
    `guard_filter_fn`; both raise an error where there is something that cannot be
    looked after. `generate` makes the code of a graph.

    Attributes:
        refused: What that was; empty if there was nothing.
    """

    def __init__(self, generate: Callable[..., Any]) -> None:
        self.generate, self.refused = generate, ""
        self._codes: set[CodeType] = set()
        self._seen: dict[tuple[Any, str], Any] = {}  # by object and name
        self._found: list[Any] = []

    def backend(self, graph: Any, inputs: Any) -> Any:
        """Note whose code became part of a graph, and make the code of that."""
        for code in pytorch.traced_code():
            if code.co_filename == os.getenv.__code__.co_filename:
                self._refuse("it reads variables of the environment")
            if not _trusts(code):
                self._codes.add(code)
            if _catches(code):
                self._refuse(f"{code.co_qualname} goes by errors that it catches")
        return self.generate(graph, inputs)

    def look(self, guards: Sequence[Any]) -> list[bool]:
        """Note the classes of all that is guarded. Every guard is kept."""
        values = [guard.value for guard in guards if guard.has_value]
        for value in values:
            if isinstance(getattr(value, "__self__", value), random.Random):
                self._refuse("it draws Python's random numbers")
            cached = isinstance(value, functools._lru_cache_wrapper)
            if cached and not _trusts(value.__wrapped__.__code__):
                self._refuse(f"{value.__name__} keeps its answers in a cache")
        for cls in {x if isinstance(x, type) else type(x) for x in values}:
            self._note(cls)
        self._found = list(self._seen.values())
        return [True] * len(guards)

    def changed(self) -> str:
        """What of a class is another one since, by name; empty if all is the same."""
        found = [getattr(owner, name, None) for owner, name in self._seen]
        if found == self._found:
            return ""
        places = zip(self._seen, found, self._found, strict=True)
        owner, name = next(place for place, now, before in places if now != before)
        return f"{owner.__name__}.{name}"

    def _note(self, cls: type[Any]) -> None:
        """Note what was compiled of a class: its own, and what it inherits."""
        named = {name for code in self._codes for name in code.co_names}
        for base in cls.__mro__:
            for name, member in vars(base).items():
                function = _function_of(member)
                if getattr(function, "__code__", None) in self._codes:
                    self._seen[function, "__code__"] = function.__code__
                    self._seen[base, name] = getattr(base, name)
                elif not isinstance(member, int | float | str) or name not in named:
                    continue  # PyTorch guards values where they are, but not above
                if base is not cls:
                    self._seen[cls, name] = getattr(cls, name)

    def _refuse(self, reason: str) -> None:
        self.refused = reason
        raise NotCompiledError(reason)


def _trusts(code: CodeType) -> bool:
    return code.co_filename.startswith(_TRUSTED)


def _catches(code: CodeType) -> bool:
    """Whether code has an `except`, unless it is of those that are trusted."""
    if _trusts(code):
        return code is contextlib.suppress.__exit__.__code__
    steps = [step.opname for step in dis.Bytecode(code)]
    bare = ("PUSH_EXC_INFO", "POP_TOP")  # of `with` and `finally` others follow
    return "CHECK_EXC_MATCH" in steps or bare in itertools.pairwise(steps)


def _function_of(member: Any) -> Any:
    """The function of a method or property, whatever is around it."""
    return inspect.unwrap(getattr(member, "__func__", getattr(member, "fget", member)))
