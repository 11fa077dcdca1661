"""Guards in addition to PyTorch's (as of 2.13); what has no guard is not compiled.

PyTorch's guards check values: attributes, globals, closures, modules, shapes. They do
not check the methods of classes, which a notebook may replace; nor that a name or a key
is missing, where code finds that out by an exception; nor Python's random numbers,
variables of the environment, and functions with a cache.
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
from types import BuiltinMethodType, CodeType, MethodType
from typing import Any

import torch

from yieldrl.speed import pytorch

# Found without an import: environments alone need no TensorDict.
_SPECS: Any = map(importlib.util.find_spec, ("torch", "tensordict"))
_LIBRARIES = [f"{Path(spec.origin).parent}{os.sep}" for spec in _SPECS]
_CACHED: Any = type(functools.cache(len))
_TRUSTED = *_LIBRARIES, contextlib.__file__, enum.__file__


class NotCompiledError(Exception):
    """A function could not be compiled; nothing has been done."""


class GuardedCode:
    """A function under `torch.compile`, which compiles at its first call.

    It records what was compiled, and reports when that has changed. Code that cannot be
    guarded makes a call raise one of PyTorch's errors.

    Args:
        function: Of tensors.
        generate: Makes the code of a graph.
        options: Of `torch.compile`.

    Attributes:
        call: Calls the code.
        unguardable: Why the code cannot be guarded; empty if it can.
    """

    def __init__(
        self, function: Callable[..., Any], generate: Callable[..., Any], **options: Any
    ) -> None:
        self.generate, self.unguardable = generate, ""
        self._codes: set[CodeType] = set()
        self._seen: dict[tuple[Any, str], Any] = {}  # by object and name
        compiled: Any = torch.compile
        self.call: Callable[..., Any] = compiled(
            function,
            fullgraph=True,
            backend=self._backend,
            options={"guard_filter_fn": self._look},
            isolate_recompiles=True,
            **options,
        )

    def changed(self) -> str:
        """The name of a member of a class that was replaced; empty if none was."""
        for (owner, name), before in self._seen.items():
            now = getattr(owner, name, None)
            if now is not before and now != before:  # class methods are new objects
                return f"{owner.__name__}.{name}"
        return ""

    def _backend(self, graph: Any, inputs: Any) -> Any:
        """Record which code became part of a graph, and generate its code."""
        for code in pytorch.traced_code():
            if code.co_filename == os.getenv.__code__.co_filename:
                self._refuse("it reads variables of the environment")
            if not _is_trusted(code):
                self._codes.add(code)
            if _catches(code):
                self._refuse(f"{code.co_qualname} goes by errors that it catches")
        return self.generate(graph, inputs)

    def _look(self, guards: Sequence[Any]) -> list[bool]:
        """Record the classes of all guarded values; keep every guard."""
        values = [guard.value for guard in guards if guard.has_value]
        for value in values:
            bound = isinstance(value, MethodType | BuiltinMethodType)
            if isinstance(value.__self__ if bound else value, random.Random):
                self._refuse("it draws Python's random numbers")
            function = _function_of(value) if isinstance(value, _CACHED) else None
            if function and not _is_trusted(function.__code__):
                self._refuse(f"{value.__name__} keeps its answers in a cache")
        named = {name for code in self._codes for name in code.co_names}
        for cls in {x if isinstance(x, type) else type(x) for x in values}:
            self._note(cls, named)
        return [True] * len(guards)

    def _note(self, cls: type[Any], named: set[str]) -> None:
        """Record the members of a class that were compiled, inherited ones too."""
        for base in cls.__mro__:
            for name, member in vars(base).items():
                function = _function_of(member)
                if getattr(function, "__code__", None) in self._codes:
                    self._seen[function, "__code__"] = function.__code__
                    self._seen[base, name] = getattr(base, name)
                elif not isinstance(member, int | float | str) or name not in named:
                    continue  # PyTorch does not guard values that are inherited
                if base is not cls:
                    self._seen[cls, name] = getattr(cls, name)

    def _refuse(self, reason: str) -> None:
        self.unguardable = reason
        raise NotCompiledError(reason)


def _is_trusted(code: CodeType) -> bool:
    return code.co_filename.startswith(_TRUSTED)


def _catches(code: CodeType) -> bool:
    """Whether code has an `except`, unless it is of those that are trusted."""
    if _is_trusted(code):
        return code is contextlib.suppress.__exit__.__code__
    steps = [step.opname for step in dis.Bytecode(code)]
    bare = ("PUSH_EXC_INFO", "POP_TOP")  # `with` and `finally` have others
    return "CHECK_EXC_MATCH" in steps or bare in itertools.pairwise(steps)


def _function_of(member: Any) -> Any:
    """The function of a method or property, whatever is around it."""
    return inspect.unwrap(getattr(member, "__func__", getattr(member, "fget", member)))
