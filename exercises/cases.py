"""Properties as data: for these arguments an answer must give what the solution gives.

A `check.py` has a few arguments, and a list of properties that it makes of them:

    CHAPTER = Chapter(__name__)
    PROPERTIES = CHAPTER.same(
        "td_target",
        "After a terminated step nothing follows",
        steps(terminated=[1]),
    )
"""

import copy
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from yieldrl.exercises.calls import (
    Function,
    Names,
    call,
    learns,
    moved_by,
    name_of,
    parts,
)
from yieldrl.exercises.checking import Property
from yieldrl.exercises.comparing import Wrong, expect, expect_close
from yieldrl.exercises.mistakes import Change, Results, Solution

IN_PLACE = "the argument was changed in place: make a new tensor"


class Chapter:
    """Makes the properties of a `check.py`.

    Args:
        name: Its `__name__`; `solution.py` lies beside it.
        also: Changes to the solution that leave it right with other numbers.
    """

    def __init__(self, name: str, also: Sequence[Change] = ()) -> None:
        self.name = name
        self.solution = Solution(Path(str(sys.modules[name].__file__)).parent, also)

    def same(
        self,
        function: Function,
        *table: str | Sequence[Any],
        named: Names = "",
        tolerance: float = 1e-4,
        solved: bool = False,
    ) -> list[Property]:
        """In all cases an answer must give what the solution gives.

        `table` has a property, in one sentence, and its cases, which are arguments of
        the function; the next property and its cases. If `solved`, each case ends with
        its result.
        """
        close = {"named": named or name_of(function), "tolerance": tolerance}
        rows: dict[str, list[Any]] = {}
        for part in table:
            if isinstance(part, str):
                rows[part] = []
            else:
                rows[list(rows)[-1]].append(part)
        made = []
        for says, cases in rows.items():
            want = [[case[-1]] for case in cases] if solved else None
            given = [case[:-1] for case in cases] if solved else cases
            made.append(self._same(says, function, given, {**close, "want": want}))
        return made

    def _same(
        self, says: str, function: Function, cases: Any, close: dict[str, Any]
    ) -> Property:
        def solve(module: Any) -> Results:
            results = [call(module, function, copy.deepcopy(case)) for case in cases]
            return [parts(result, close["named"], function) for result in results]

        def holds(answer: Any) -> None:
            self.compare(answer, solve, **close)

        return self._property(says, holds)

    def gradient(
        self, says: str, function: Function, case: Sequence[Any], of: int, hint: str
    ) -> Property:
        """The gradient for argument number `of` must be the solution's; the `hint` is
        for results that have none."""

        def solve(module: Any) -> Results:
            given = list(copy.deepcopy(case))
            inputs = learns(given, of)
            result = call(module, function, given)
            some = isinstance(result, Tensor) and result.requires_grad
            expect(some, f"the result of {name_of(function)} has no gradient", hint)
            return [list(torch.autograd.grad(result.sum(), inputs))]

        def holds(answer: Any) -> None:
            self.compare(answer, solve, "gradient")

        return self._property(says, holds)

    def constant(
        self,
        says: str,
        *calls: tuple[Function, Sequence[Any]],
        of: Sequence[int] = (),
        hint: str = "",
        in_place: str = IN_PLACE,
    ) -> Property:
        """Arguments must stay as they were, and those numbered in `of` must get no
        gradient."""

        def holds(answer: Any) -> None:
            for function, case in calls:
                given = copy.deepcopy(case)
                call(answer, function, given)
                for name, part, was in self._tensors(function, given, case):
                    expect_close(part, was, named=name, hint=in_place)
            function, case = calls[0]
            for number in of:
                given = list(copy.deepcopy(case))
                inputs = learns(given, number)
                moved = moved_by(call(answer, function, given), inputs)
                name = self._arguments(function)[number]
                text = f"the result of {name_of(function)} has a gradient, of {name}"
                expect(not moved, text, hint)

        return self._property(says, holds)

    def compare(
        self,
        answer: Any,
        solve: Callable[[Any], Results],
        named: Names,
        tolerance: float = 1e-4,
        want: Results | None = None,
    ) -> None:
        """Raise `Wrong` unless an answer's results are `want`, by default those of a
        right solution; `solve` gives the results of a module."""
        got = solve(answer)
        wants = [want] if want else [solve(of) for of in self.solution.all_right]
        wrongs = [self._first_wrong(got, right, named, tolerance) for right in wants]
        if wrongs[0] is not None and None not in wrongs:
            known = self.solution.hint(solve, got, tolerance)
            raise Wrong(wrongs[0].message, known or wrongs[0].hint)

    @staticmethod
    def _first_wrong(
        got: Results, want: Results, named: Names, tolerance: float
    ) -> Wrong | None:
        """The first result that is not as wanted, or None."""
        names = [named] if isinstance(named, str) else named
        for one, other in zip(got, want, strict=True):
            for j, name in enumerate(names):
                try:
                    expect_close(one[j], other[j], named=name, tolerance=tolerance)
                except Wrong as wrong:
                    return wrong
        return None

    def _arguments(self, function: Function) -> list[str]:
        """The names of a function's arguments, without the module."""
        if callable(function):
            return list(inspect.signature(function).parameters)[1:]
        right = getattr(self.solution.right, function)
        return list(inspect.signature(right).parameters)

    def _tensors(
        self, function: Function, given: Sequence[Any], case: Sequence[Any]
    ) -> list[tuple[str, Any, Any]]:
        """Name, value now and value before of the arguments that are arrays."""
        arguments = zip(self._arguments(function), given, case, strict=False)
        return [of for of in arguments if hasattr(of[2], "dtype")]

    def _property(self, says: str, holds: Property) -> Property:
        """A property with its statement."""
        holds.__doc__, holds.__module__ = says, self.name
        return holds
