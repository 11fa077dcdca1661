"""PyTorch's compiler front end is imported when somebody compiles, not before.

TensorDict and PyTorch's optimizers import `torch._dynamo` only to tell it how to treat
some of their functions if it ever compiles them. That is a third of the time until a
training begins, and what is compiled here goes another way. So what they say is noted,
and told to the front end as soon as anybody imports it: to a program that compiles with
`torch.compile`, everything is as it was.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

DYNAMO = "torch._dynamo"

SAID = ("allow_in_graph", "assume_constant_result")
"""What TensorDict says of functions, by the names in `torch.compiler`."""

Load = Callable[[ModuleType], None]
"""Executes a module."""


class Late(importlib.abc.MetaPathFinder):
    """Notes what is said to `torch._dynamo` until it is there, and tells it then.

    It finds no module by itself: it stands by when two of them are loaded.
    """

    def __init__(self) -> None:
        self._beside = {"tensordict": self._note, DYNAMO: self._tell}
        self._told: list[Callable[[Any], object]] = []

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """What others find, with a way to load it that this class stands beside."""
        beside = self._beside.pop(name, None)
        spec = importlib.util.find_spec(name) if beside is not None else None
        if beside is not None and spec is not None and spec.loader is not None:
            load = spec.loader.exec_module
            spec.loader.exec_module = functools.partial(beside, load)
        return spec

    def _note(self, load: Load, module: ModuleType) -> None:
        """Load TensorDict, which says something to the front end, and prepare
        optimizers, which would later."""
        if DYNAMO in sys.modules:
            load(module)
            return
        self._spare_optimizers()
        with self._listening():
            load(module)

    def _tell(self, load: Load, module: ModuleType) -> None:
        """Load the front end; then it hears what was said before."""
        load(module)
        while self._told:
            self._told.pop(0)(module)

    @contextmanager
    def _listening(self) -> Iterator[None]:
        """Where `torch.compiler` only notes what it is told."""
        from torch import compiler

        def heard(name: str, say: Callable[[Any], Any], function: Any) -> Any:
            if DYNAMO in sys.modules:
                return say(function)
            self._told.append(lambda dynamo: getattr(dynamo, name)(function))
            return function

        real = {name: getattr(compiler, name) for name in SAID}
        for name, say in real.items():
            setattr(compiler, name, functools.partial(heard, name, say))
        try:
            yield
        finally:
            for name, say in real.items():
                setattr(compiler, name, say)

    def _spare_optimizers(self) -> None:
        """Optimizers that do not ask for the front end before it is there.

        PyTorch keeps `add_param_group` and others out of graphs: their first call looks
        up what to call instead, the function itself as long as nobody compiles.
        """
        from torch import optim

        for method in vars(optim.Optimizer).values():
            if _made_by(method, "_disable_dynamo"):
                function = method.__wrapped__
                vars(function)["__dynamo_disable"] = function
                self._told.append(functools.partial(_look_up_again, function))
        for kind in vars(optim).values():
            step = vars(kind).get("step") if isinstance(kind, type) else None
            if _made_by(step, "_use_grad_for_differentiable"):
                kind.step = _spared(step)


def _made_by(method: Any, decorator: str) -> bool:
    """Whether it is a function that a decorator of this name returned."""
    code = getattr(method, "__code__", None)
    return code is not None and code.co_qualname.startswith(f"{decorator}.<locals>")


def _look_up_again(function: Any, _: Any) -> None:
    vars(function).pop("__dynamo_disable", None)


def _spared(step: Any) -> Any:
    """An optimizer's step that ends no graph where there cannot be one."""

    @functools.wraps(step)
    def spared(self: Any, *args: Any, **kwargs: Any) -> Any:
        if DYNAMO in sys.modules:
            return step(self, *args, **kwargs)
        from torch import set_grad_enabled

        with set_grad_enabled(self.defaults["differentiable"]):
            return step.__wrapped__(self, *args, **kwargs)

    return spared


if DYNAMO not in sys.modules:
    sys.meta_path.insert(0, Late())
