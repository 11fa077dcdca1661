"""A function of tensors that draws random numbers, as one compiled function."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from yieldrl.speed.drawing import Draw, Given, Noting
from yieldrl.speed.graph import layout, trace
from yieldrl.speed.nested import Leaves, leaves_of, nested
from yieldrl.speed.plan import Candidate, Followed, Names, Plan
from yieldrl.speed.precision import spelled

Function = Callable[[dict[str, Any], torch.Generator], dict[Any, Tensor]]


class CompiledCall:
    """Calls a function, or its compiled code once there is some.

    Random numbers are drawn outside of the code, from the generator that is given and
    in the order in which the function draws them: they are those of the function.
    Results differ from it by rounding alone. They are tensors of their own.

    Args:
        name: What the function does, for the log.
        function: From nested tensors and a generator to tensors by name. It may use
            parameters of modules as they are at each call. What else it looks at
            besides tensors, `situation` must say.
        plan: Says whether to compile, and when.

    Attributes:
        part_of: What it is a part of: as long as that may be compiled whole, this is
            not compiled for itself.

    >>> plan = Plan("eager", 0, lambda: 0)
    >>> double = CompiledCall("doubling", lambda x, _: {"twice": 2 * x["x"]}, plan)
    >>> double({"x": torch.ones(2)}, torch.Generator())
    {'twice': tensor([2., 2.])}
    """

    def __init__(self, name: str, function: Function, plan: Plan) -> None:
        self.name, self.function, self.plan = name, function, plan
        self.part_of: CompiledCall | None = None
        self._candidates: dict[Hashable, Candidate] = {}
        self._draws: dict[Hashable, list[Draw]] = {}

    def __call__(
        self,
        inputs: dict[str, Any],
        generator: torch.Generator,
        situation: Hashable = (),
    ) -> dict[Any, Tensor]:
        """The function's answer to nested tensors, in a situation."""
        run = self.ready(inputs, generator, situation)
        return self.function(inputs, generator) if run is None else run()

    def ready(
        self,
        inputs: dict[str, Any],
        generator: torch.Generator,
        situation: Hashable = (),
    ) -> Callable[[], dict[Any, Tensor]] | None:
        """A call of the code on such inputs; None as long as there is none."""
        whole = self.part_of
        if not self.plan.compiles or (whole is not None and whole.hopeful):
            return None
        leaves = leaves_of(inputs)
        key = (situation, tuple(leaves), tuple(map(layout, leaves.values())))
        candidate = self._candidates.get(key)
        if candidate is None:
            kind = repr((spelled(self.function), self.name, key))
            candidate = self._candidates[key] = Candidate(kind, f"{self.name}: ")
        follow = partial(self._trace, key, leaves, generator)
        compiled = self.plan.compiled(candidate, follow)
        if compiled is None:
            return None

        def run() -> dict[Any, Tensor]:
            drawn = [draw(generator) for draw in self._draws[key]]
            found = compiled([*leaves.values(), *drawn])
            return dict(zip(candidate.names[0], found, strict=True))

        return run

    @property
    def hopeful(self) -> bool:
        """Whether there is code, or may be some later."""
        known = [not candidate.closed for candidate in self._candidates.values()]
        return self.plan.compiles and (any(known) or not known)

    def _trace(
        self, key: Hashable, leaves: Leaves, generator: torch.Generator
    ) -> Followed:
        """The function on inputs of these layouts; names of what it returns."""
        names: Names = ([], [])
        with torch.no_grad(), Noting() as noting:
            self.function(nested(leaves), generator)
        draws = self._draws[key] = noting.draws
        given = len(leaves)

        def call(tensors: list[Tensor]) -> list[Tensor]:
            inputs = nested(dict(zip(leaves, tensors[:given], strict=True)))
            with Given(tensors[given:]):
                results = self.function(inputs, generator)
            names[0][:] = results
            return [*results.values()]

        numbers = [draw(torch.Generator(generator.device)) for draw in draws]
        tensors = [*leaves.values(), *numbers]
        return Followed(trace(call, tensors), names, tensors)
