"""Whether steps are compiled, and when: by the work that lies ahead."""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.optim import Optimizer

from yieldrl.foundations.device import usable_cores
from yieldrl.speed import library
from yieldrl.speed.captured import Captured
from yieldrl.speed.compiler import Compilation, Compiled, missing_compiler
from yieldrl.speed.flat_adam import FlatAdam
from yieldrl.speed.graph import Graph

Mode = Literal["auto", "eager", "compile", "cudagraph"]

Names = tuple[list[str], list[str]]
"""Of what a compiled step returns: its logs, and its results per sample."""


class Followed(NamedTuple):
    """What is known of a step that was followed."""

    graph: Graph
    names: Names
    tensors: list[Tensor]  # what it was given
    fixed: int = 0  # how many of these, the first ones, lie where they are for good


Follow = Callable[[], Followed]
"""Follows a step."""

Code = Compiled | Captured
"""What takes the place of a step."""

LEAST_STEPS = 250
"""Gradient steps of a run from which on `auto` looks for compiled code: to follow a
step and to load what was kept of it takes a tenth of a second or two, which so many
steps save."""

COMPILED_STEPS = 1500
"""Gradient steps of a run from which on `auto` may compile what was not kept. Of fewer
it does not look how long they take: that takes time too."""

WATCHED_SECONDS = 2.0
"""How long `auto` looks at what a step and all that belongs to it take, before it says
how long the run goes on."""

FIRST_SECONDS = 1.0
"""How much longer it looks before all else than gradient steps: these gain most, and
one thing is compiled after the other."""

COMPILED_SECONDS = 10.0
"""Seconds of the run ahead from which on `auto` compiles what was not kept: a compiler
is at work for as long or twice as long, on a core that training leaves free. Some of
these runs gain little. Those that come later find the code."""

CROWDED_SECONDS = 30.0
"""The same where training has all cores, so that a compiler takes from it."""

MOST_LAYOUTS = 8
"""Steps and layouts of batches that are compiled for; of others each step is an eager
one."""

log = logging.getLogger("yieldrl.speed")


class Candidate:
    """A step on batches of one layout, compiled or not.

    Args:
        kind: What is known of the step before it is followed, as text.
        name: What decisions about it begin with.

    Attributes:
        kept: Whether an earlier run may have compiled it.
        code: Machine code, once there is some.
        closed: Whether there never will be.
        names: Of what `code` returns.
    """

    def __init__(self, kind: str, name: str = "") -> None:
        self.kind, self.name = kind, name
        self.kept = library.knows(kind)
        self.began: tuple[float, int] | None = None  # when, and after how many steps
        self.code: Code | None = None
        self.closed = False
        self.names: Names = ([], [])
        self.compilation: Compilation | None = None


class Plan:
    """Whether the gradient steps of a learner are compiled, and when.

    `compile` waits for the compiler, at the first step. `auto` goes by the work ahead:
    of few steps all are eager; of more it takes what an earlier run compiled, from the
    first step on. Otherwise, of many, it looks how long steps take. Of a run that goes
    on for long it has the step compiled in a process beside this one, and goes over to
    it between two steps, when it is there.

    On a GPU a step is recorded as a CUDA graph instead, which takes no compiler: by
    `cudagraph` always, by `auto` where more than a few steps are ahead.

    A run that is resumed takes what is kept as if it had not been left: whether to look
    for it goes by the steps of the whole run.

    Args:
        mode: `auto`, `eager`, `compile` or `cudagraph`.
        steps: Gradient steps of the whole run; 0 if nobody knows.
        steps_done: How many were taken so far.
        gpu: Whether the steps are taken on a GPU.

    Attributes:
        compiles: Whether to look for compiled code, now and later.
        decisions: What was decided and why, a sentence each.
    """

    def __init__(
        self,
        mode: Mode,
        steps: int,
        steps_done: Callable[[], int],
        *,
        gpu: bool = False,
    ) -> None:
        self.mode = mode
        self.decisions: list[str] = []
        self.strict = mode in ("compile", "cudagraph")
        self.compiles = self.strict or (mode == "auto" and steps >= LEAST_STEPS)
        self._captures = mode == "cudagraph" or (mode == "auto" and gpu)
        self._steps, self._steps_done = steps, steps_done
        self._watched_seconds = WATCHED_SECONDS
        self._layouts, self._has_code = 0, False
        if mode == "auto" and not self.compiles:
            self._say(self._too_few)

    def beside(self) -> Plan:
        """A plan for something else than gradient steps, which decides for itself."""
        other = copy.copy(self)
        other._watched_seconds += FIRST_SECONDS
        return other

    def fits(self, optimizer: Optimizer) -> bool:
        """Whether the steps of an optimizer may be compiled one day.

        Raises:
            TypeError: If they must be, and it is none that can.
            ValueError: If it has an option that cannot.
        """
        if not self.compiles:
            return False
        try:
            FlatAdam(optimizer).options()
        except (TypeError, ValueError) as reason:
            if self.strict:
                raise
            self._say(f"eager: {reason}")
            return False
        return True

    def compiled(self, candidate: Candidate, follow: Follow) -> Code | None:
        """The code to take this step with; None for an eager one."""
        if candidate.code is not None or candidate.closed:
            return candidate.code
        if candidate.compilation is None:
            known = self.strict or self._captures or candidate.kept
            if known or self._pays(candidate):
                self._begin(candidate, follow)
        elif self.mode == "auto":
            candidate.code = candidate.compilation.poll()
            self._settle(candidate, "compiled beside the training")
        return candidate.code

    def _begin(self, candidate: Candidate, follow: Follow) -> None:
        """Follow a step; load it, compile it, or leave it."""
        if self._layouts == MOST_LAYOUTS:
            candidate.closed = True
            return
        self._layouts += 1
        try:
            followed = follow()
        except Exception as reason:  # whatever an unusual loss makes PyTorch say
            if self.strict:
                raise RuntimeError(
                    f"speed={self.mode!r}: the loss cannot be followed as operations on"
                    " tensors alone, so its steps are eager ones: say speed='eager'"
                ) from reason
            said = str(reason).strip().splitlines() or [type(reason).__name__]
            self._close(candidate, f"the loss cannot be followed: {said[0]}")
            return
        candidate.names = followed.names
        if self._captures:
            self._capture(candidate, followed)
            return
        made = Compilation(followed.graph)
        if candidate.kept and self.mode == "auto" and not made.kept:
            candidate.kept = False  # another version's: see whether a new one pays
            self._layouts -= 1
            return
        candidate.compilation = made
        if made.kept:
            candidate.code = made.wait()
            self._settle(candidate, "compiled by an earlier run")
        elif missing := missing_compiler():
            self._give_up(candidate, f"{candidate.name}eager: {missing}")
        elif self.mode == "compile":
            candidate.code = made.wait()
            self._settle(candidate, "compiled before the first step")
        else:
            ahead = f"{self._ahead():,} steps ahead"
            self._say(f"{candidate.name}eager, while one is compiled: {ahead}")

    def _capture(self, candidate: Candidate, followed: Followed) -> None:
        """Record a step, or leave it."""
        try:
            graph, tensors, fixed = followed.graph, followed.tensors, followed.fixed
            candidate.code = Captured(graph, tensors, fixed=fixed)
        except RuntimeError as reason:  # what a GPU cannot record, it says
            if self.strict:
                raise
            said = str(reason).strip().splitlines()[0]
            self._close(candidate, f"no CUDA graph can be recorded: {said}")
            return
        self._has_code = True
        ahead = f"{self._ahead():,} steps ahead"
        self._say(f"{candidate.name}recorded as a CUDA graph: {ahead}")

    def _pays(self, candidate: Candidate) -> bool:
        """Whether what is left of the run is worth a compiler; False until it shows."""
        if self._steps < COMPILED_STEPS:
            self._give_up(candidate, self._too_few)
            return False
        now, done = time.monotonic(), self._steps_done()
        if candidate.began is None:
            candidate.began = now, done
        seconds, steps = now - candidate.began[0], done - candidate.began[1]
        if seconds < self._watched_seconds or steps == 0:
            return False
        ahead = self._ahead() * seconds / steps
        crowded = torch.get_num_threads() >= usable_cores()
        pays = ahead >= (CROWDED_SECONDS if crowded else COMPILED_SECONDS)
        if not pays:
            few = f"{ahead:.0f} s ahead are too few to compile"
            self._give_up(candidate, f"{candidate.name}eager: {few}")
        return pays

    def _settle(self, candidate: Candidate, how: str) -> None:
        """Say once that there is code, or that there never will be."""
        assert candidate.compilation is not None
        failure = candidate.compilation.failure
        if candidate.code is not None:
            self._has_code = True
            library.note(candidate.kind)
            self._say(f"{candidate.name}{how}: {self._ahead():,} steps ahead")
        elif failure is not None:
            self._close(candidate, f"the compiler failed: {failure}")

    def _ahead(self) -> int:
        """Gradient steps that are still to be taken."""
        return max(0, self._steps - self._steps_done())

    def _give_up(self, candidate: Candidate, decision: str) -> None:
        """Leave this step, and all that come: looking at each would take time too.

        What holds for all that a run consists of is said once.
        """
        candidate.closed, self.compiles = True, self._has_code
        if decision not in self.decisions:
            self._say(decision)

    def _close(self, candidate: Candidate, reason: str) -> None:
        candidate.closed = True
        self._say(f"{candidate.name}eager: {reason}")

    @property
    def _too_few(self) -> str:
        return f"eager: {self._steps:,} steps are too few to compile one"

    def _say(self, decision: str) -> None:
        self.decisions.append(decision)
        log.info(decision)
