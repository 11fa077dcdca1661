"""PyTorch's compiler front end is imported when it is needed, not a second before.

Optimizers and TensorDict import `torch._dynamo` on their way, only to tell it what it
should do about them if it ever compiles them. That is a quarter of the time until a
training begins, and nothing here uses it: what is compiled goes another way.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

NAME = "torch._dynamo"


class Late(ModuleType):
    """Stands where `torch._dynamo` will be, until more is asked than to take note.

    What it was told it passes on then: in a program that compiles with
    `torch.compile`, everything is as if the module had been there from the start.
    """

    def __init__(self) -> None:
        super().__init__(NAME, self.__doc__)
        self._told: list[Callable[[Any], object]] = []

    def graph_break(self, msg: str = "") -> None:
        """End a graph; there is none."""

    def allow_in_graph(self, fn: Any) -> Any:
        """Note it, for what compiles later."""
        self._told.append(lambda real: real.allow_in_graph(fn))
        return fn

    def assume_constant_result(self, fn: Any) -> Any:
        """Note it, for what compiles later."""
        self._told.append(lambda real: real.assume_constant_result(fn))
        return fn

    def disable(self, fn: Any = None, recursive: bool = True, **options: Any) -> Any:
        """Note it where PyTorch says it of its own functions, which look it up again.

        What somebody else gets stays: it has to be the real thing.
        """
        if fn is None or options != {"wrapping": False}:
            return self.__getattr__("disable")(fn, recursive, **options)

        def pass_on(real: Any) -> None:
            vars(fn)["__dynamo_disable"] = real.disable(fn, recursive, **options)

        self._told.append(pass_on)
        return fn

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__path__":  # what looks at all modules
            raise AttributeError(f"module {NAME!r} has no attribute {name!r} yet")
        return getattr(self._come(), name)

    def _come(self) -> ModuleType:
        """The module itself, imported and told."""
        if sys.modules.get(NAME) is self:
            del sys.modules[NAME]
        real = importlib.import_module(NAME)
        while self._told:
            self._told.pop(0)(real)
        return real


if NAME not in sys.modules:
    sys.modules[NAME] = Late()
