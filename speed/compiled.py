"""One function under `torch.compile`, compiled again if what it reads has changed."""

import itertools
import logging
import re
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from types import FunctionType
from typing import Any

import torch

from yieldrl.foundations import compile_cache
from yieldrl.foundations.trees import map_tensors
from yieldrl.speed import pytorch
from yieldrl.speed.guards import GuardedCode, NotCompiledError
from yieldrl.speed.plan import Plan

MAX_RECOMPILES, ROW = 8, 100
"""So many, within so many calls of each other, turn a function eager."""

_NUMBERS = itertools.count()


class Compiled:
    """A function that PyTorch compiles when the plan says so.

    PyTorch guards all that the function read when it was compiled: attributes, globals,
    closures, modules, shapes; `GuardedCode` the rest. Where one of these has changed,
    it is compiled anew: a call does what the function itself would do, to rounding.
    What cannot be compiled whole (control flow by data, `.item()`, NumPy's random
    numbers), or not guarded, is left to the function.

    Attributes:
        name: What the function does, for the log.
        function: Of tensors, nested tensors and plain values.
        plan: Says whether to compile, and when.
        eager: Is called with the same arguments where there is no code.
        coded: The same where there is, with all that a call of the code takes.
        around: A context that all calls need.
        example: Makes arguments as the latest call had them; None if there was none.
        calls: How often it was called so far.
        rejected: Whether it is never compiled again.
        fused_into: A larger function that includes it, and is compiled instead.
    """

    def __init__(self, name: str, function: Callable[..., Any], plan: Plan) -> None:
        self.name, self.plan = name, plan
        self.function = self.eager = function
        self.coded: Callable[..., Any] = self
        self.around: Callable[[], AbstractContextManager[Any]] = nullcontext
        self.example: Callable[[], tuple[Any, ...]] | None = None
        self.calls, self.rejected = 0, False
        self.fused_into: Compiled | None = None
        self._code: GuardedCode | None = None
        self._recompiles = self._latest = 0
        plan.functions.add(self)

    def __getstate__(self) -> dict[str, Any]:
        """The state of a copy, which compiles for itself."""
        return {**vars(self), "example": None, "_code": None}

    def is_due(self, example: Callable[[], tuple[Any, ...]]) -> bool:
        """Whether to call the code now, with such arguments as `example` makes."""
        whole = self.fused_into
        waits = whole is not None and not whole.rejected
        if self.rejected or waits or pytorch.is_watched():
            return False
        self.calls += 1
        if self._code is not None:
            return True
        self.example = example
        return self.plan.is_due(self)

    def __call__(self, *args: Any) -> Any:
        """The result of compiled code, which is compiled first if necessary.

        If it cannot be: NotCompiledError; RuntimeError at the first call if `strict`.
        """
        changed = "" if self._code is None else self._code.changed()
        if first := self._code is None:
            try:
                where = compile_cache.prepare()
            except OSError as error:
                raise NotCompiledError(f"its code has no place: {error}") from error
            self.plan.say(f"{self.name}: training waits while it is compiled; {where}")
        if self._code is None or changed:
            self._code = self.compile()
        before, began = pytorch.graphs_compiled(), time.perf_counter()
        if self.plan.gpu:
            torch.compiler.cudagraph_mark_step_begin()
        try:
            found = pytorch.with_settings(self._code.call, *args)
        except pytorch.compile_error() as error:
            said = self._code.unguardable or pytorch.said_by(error)
            if first and self.plan.strict:
                raise RuntimeError(
                    f"speed={self.plan.mode!r}: the {self.name} cannot be compiled:"
                    f" {said}. Write it with tensors alone, or say speed='eager'"
                ) from error
            raise NotCompiledError(said) from error
        if pytorch.graphs_compiled() != before:
            reason = f"{changed} was replaced" if changed else ""
            self._note(first, time.perf_counter() - began, reason)
        # Copies: the next replay of a CUDA graph writes over its results.
        return map_tensors(torch.clone, found) if self.plan.gpu else found

    def compile(self) -> GuardedCode:
        """The function under `torch.compile`, which compiles at its first call."""
        function, gpu = self.function, self.plan.gpu

        def call(*args: Any) -> Any:
            return function(*args)

        # PyTorch remembers the shapes that code of one name has met, of any instance.
        code = call.__code__.replace(co_name=f"call_{next(_NUMBERS)}")
        own = FunctionType(code, globals(), code.co_name, None, call.__closure__)
        # Kernels are called from C++, or recorded: from Python, small ones take longer.
        options = pytorch.OPTIONS | {"cpp_wrapper": not gpu, "triton.cudagraphs": gpu}
        generate = partial(pytorch.generated, **options)
        return GuardedCode(own, generate, recompile_limit=1_000)  # above MAX_RECOMPILES

    def reject(self, reason: str, level: int = logging.WARNING) -> None:
        """Call the function itself from now on."""
        self.rejected, self._code, self.example = True, None, None
        self.plan.say(f"{self.name}: eager: {reason}", level)

    def _note(self, first: bool, seconds: float, reason: str) -> None:
        """Say what was compiled, how long it took and why."""
        self.example = None
        compile_cache.write_checksums()
        if first:
            self.plan.say(f"{self.name}: compiled in {seconds:.1f} s")
            return
        self._recompiles += 1
        if self.calls - self._latest > ROW:
            self._recompiles = 1
        self._latest = self.calls
        reason = reason or in_plain_words(pytorch.recompile_reason())
        again = f"compiled again in {seconds:.1f} s: {reason}"
        self.plan.say(f"{self.name}: {again}", logging.WARNING)
        if self._recompiles >= MAX_RECOMPILES:
            self.reject(f"compiled again {MAX_RECOMPILES} times in a row")


def in_plain_words(reason: str) -> str:
    """PyTorch's name of the guard that failed, as a sentence.

    >>> in_plain_words("0/0: self.beta == 0.0  # loss + self.beta  # a.py:3 in loss")
    'self.beta == 0.0 no longer holds (loss + self.beta)'
    """
    first = next((line for line in reason.splitlines() if line.strip()), "")
    guard, *places = re.sub(r"^[-\s]*\d+/\d+:\s*", "", first).split("  # ")
    guard = re.sub(r"\b[LG]\['(\w+)'\]", r"\1", guard)
    for method in ("function.__self__", "self.loss.__self__", "self.loss.self"):
        guard = guard.replace(method, "self").strip()
    said = guard if "mismatch" in guard else f"{guard or 'a guard'} no longer holds"
    return f"{said} ({places[0].strip()})"[:200] if places else said[:200]
