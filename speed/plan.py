"""Whether and when functions are compiled: if the rest of the run gains time."""

import logging
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

from yieldrl.foundations import compile_cache
from yieldrl.speed import warm_up

MIN_STEPS = 250  # gradient steps of a run; with fewer `auto` does not compile
WATCHED_SECONDS = 2.0  # for which `auto` measures steps
COMPILED_SECONDS = 20.0  # left of the run; with less `auto` does not compile
WAITING_SECONDS = 120.0  # the same where training waits for the compiler
START_SECONDS = 0.5  # a function's share of the time to import the compiler

log = logging.getLogger("yieldrl.speed")


class Plan:
    """Whether the functions of a learner are compiled, and when.

    `compile` compiles each at its first call. `auto` measures steps for two seconds. If
    enough of the run is left, another process compiles the functions into PyTorch's
    cache and measures the gain; those that gain are then loaded here, in a few seconds.
    A later run of the kind knows that at once.

    Args:
        mode: `auto`, `eager`, `compile` or `cudagraph`.
        steps: Gradient steps of the whole run; 0 if that is unknown.
        steps_done: How many were taken so far.
        gpu: Whether tensors are on a GPU, where code is recorded as CUDA graphs.
        kind: Describes runs that have the same code.
        single_process: Whether no other process trains the same policy.
    """

    def __init__(
        self,
        mode: str,
        steps: int,
        steps_done: Callable[[], int],
        *,
        gpu: bool = False,
        kind: str = "",
        single_process: bool = True,
    ) -> None:
        self.mode, self.gpu, self.kind = mode, gpu, kind
        self.single_process = single_process
        self.strict = mode in ("compile", "cudagraph")
        self.decisions: list[str] = []  # decisions with reasons, a sentence each
        self._steps, self._steps_done = steps, steps_done
        self.functions: weakref.WeakSet[Any] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._began: tuple[float, int] | None = None
        self._warm_up: warm_up.WarmUp | None = None
        self._note: dict[str, Any] = {}
        self._state = {"auto": "watching", "eager": "eager"}.get(mode, "compiled")
        if mode == "auto" and steps < MIN_STEPS:
            self._stay_eager(f"{steps:,} gradient steps are too few")

    def __reduce__(self) -> Any:
        """Copies of a learner, in this process or another, take eager steps."""
        return Plan, ("eager", 0, int)

    @property
    def compiles(self) -> bool:
        """Whether something is compiled, or may be later."""
        return self._state != "eager"

    def say(self, decision: str, level: int = logging.INFO) -> None:
        """Log a decision, and keep it."""
        self.decisions.append(decision)
        log.log(level, decision)

    def is_due(self, function: Any) -> bool:
        """Whether to compile this function now."""
        if self.mode != "auto" or self._state == "eager":
            return self.compiles
        with self._lock:  # background collectors call it too
            if self._state == "watching":
                self._watch()
            elif self._warm_up is not None:
                self._listen(self._warm_up)
            waits = self._warm_up is not None and function.name not in self._note
            return self._state == "compiled" and not waits and self._pays(function)

    def _watch(self) -> None:
        """Measure the steps; decide when the rest of the run can be estimated."""
        now, done = time.monotonic(), self._steps_done()
        if self._began is None:
            self._began = now, done
            if not self.gpu and (missing := compile_cache.missing_compiler()):
                self._stay_eager(missing)
            elif note := compile_cache.read_note(self.kind):
                self._note, self._state = note, "compiled"
            return
        seconds, steps = now - self._began[0], done - self._began[1]
        if seconds < WATCHED_SECONDS or steps == 0:
            return
        ahead = (self._steps - done) * seconds / steps
        beside = self.single_process and not self.gpu
        if ahead < (COMPILED_SECONDS if beside else WAITING_SECONDS):
            self._stay_eager(f"the {ahead:.0f} s that are left are too few")
        else:
            self._state = "compiled"
            if beside:
                self._begin_warm_up()

    def _begin_warm_up(self) -> None:
        """Start the process that compiles all functions that were called so far."""
        chosen = [f for f in self.functions if f.example and not f.rejected]
        names = ", ".join(sorted(f.name for f in chosen))
        try:
            self._warm_up = warm_up.WarmUp(chosen)
            self.say(f"{names}: eager, while another process compiles")
        except Exception as error:  # a user's objects may fail to be pickled
            said = str(error).splitlines() or [type(error).__name__]
            here = f"compiled here, as no other process can: {said[0]}"
            self.say(f"{names}: {here}", logging.WARNING)

    def _listen(self, process: warm_up.WarmUp) -> None:
        """Note what the other process has measured since."""
        ended, found = process.ended, dict(process.found)
        steps = max(1, self._steps_done() - (self._began or (0, 0))[1])
        for function in self.functions:
            name, known = function.name, found.get(function.name)
            if known is not None and name not in self._note:
                gain = isinstance(known, list)  # of a call; stored per gradient step
                rate = function.calls / steps
                self._note[name] = [known[0] * rate, known[1]] if gain else known
        if ended is not None:
            self._warm_up = None
            compile_cache.write_note(self.kind, self._note)
        if ended:
            self._stay_eager(ended)

    def _pays(self, function: Any) -> bool:
        """Whether a function's code gains more than it takes to load."""
        known = self._note.get(function.name)
        if known is None:
            return True
        if isinstance(known, list):
            gain = known[0] * max(0, self._steps - self._steps_done())
            load = known[1] + START_SECONDS
            if gain > load:
                return True
            known = f"compiled code would gain {gain:.1f} s and takes {load:.1f} s"
        function.reject(known, logging.INFO)
        return False

    def _stay_eager(self, reason: str) -> None:
        self._state = "eager"
        self.say(f"not compiled: {reason}")
