"""Properties as data: for these arguments an answer must give what the solution gives.

A `check.py` has a few arguments, and says of them what must hold, one after the other.
"""

import copy
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from yieldrl.exercises.checking import Property
from yieldrl.exercises.comparing import Results, Wrong, difference, expect, expect_close
from yieldrl.exercises.mistakes import Change, Solution
from yieldrl.exercises.training import logged, trainer_class

Function = str | Callable[..., Any]
"""The name of an answer's function, or a function of the answer and the arguments."""


class Chapter:
    """The properties of a `check.py`.

    Args:
        name: Its `__name__`; `solution.py` lies beside it.
        also: Changes to the solution that leave it right with other numbers.

    Attributes:
        properties: What is asked of an answer, in this order, by what it says.
    """

    def __init__(self, name: str, also: Sequence[Change] = ()) -> None:
        self.properties: dict[str, Property] = {}
        self.solution = Solution(Path(str(sys.modules[name].__file__)).parent, also)

    def holds(self, *functions: Property) -> None:
        """Add functions that raise `Wrong`; their docstrings say what is asked."""
        for holds in functions:
            says, _, _ = (holds.__doc__ or "").partition("\n")
            self.properties[says.rstrip(".")] = holds

    def same(
        self,
        function: Function,
        *table: str | set[str] | Sequence[Any],
        named: str | Sequence[str] = "",
        tolerance: float = 1e-4,
    ) -> None:
        """In all cases an answer must give what the solution gives.

        `table` has a property, in one sentence, and its cases, which are arguments of
        the function; the next property and its cases. A set of names before the cases
        says which of several results that are `named` count; by default all do.
        """
        named = named or _name(function)
        cases: list[Any] = []
        only: set[str] = set()
        for part in table:
            if isinstance(part, set):
                only.update(part)
            elif not isinstance(part, str):
                cases.append(part)
            else:
                cases, only = [], set()

                def solve(module: Any, cases: Any = cases, only: Any = only) -> Results:
                    given = [copy.deepcopy(case) for case in cases]
                    results = [_call(module, function, case) for case in given]
                    return [_parts(of, named, only, function) for of in results]

                self._solves(part, solve, tolerance)

    def gradient(self, says: str, function: Function, case: Sequence[Any]) -> None:
        """The gradient for the first argument must be the solution's."""

        def solve(module: Any) -> Results:
            given = list(copy.deepcopy(case))
            inputs = _learns(given, 0)
            result = _call(module, function, given)
            some = isinstance(result, Tensor) and result.requires_grad
            name = self._arguments(function)[0]
            hint = f"it must depend on {name}, which learns: do not detach that"
            expect(some, f"the result of {_name(function)} has no gradient", hint)
            gradients = torch.autograd.grad(result.sum(), inputs)
            return [{"gradient": gradient} for gradient in gradients]

        self._solves(says, solve)

    def constant(
        self,
        says: str,
        *calls: tuple[Function, Sequence[Any]],
        of: Sequence[int] = (),
        hint: str = "",
    ) -> None:
        """Arguments must stay as they were, and those of the first function that are
        numbered in `of` must get no gradient."""

        def holds(answer: Any) -> None:
            for function, case in calls:
                self.leaves(answer, function, case)
            function, case = calls[0]
            for number in of:
                given = list(copy.deepcopy(case))
                inputs = _learns(given, number)
                moved = _moved_by(_call(answer, function, given), inputs)
                name = self._arguments(function)[number]
                text = f"the result of {_name(function)} has a gradient, of {name}"
                expect(not moved, text, hint)

        self.properties[says] = holds

    def trains(self, says: str, *settings: Mapping[str, Any], **classes: Any) -> None:
        """With an algorithm, model or trainer of the answer's, by its name there, a
        module of the library must log what it logs with its own, with all settings."""

        def holds(answer: Any) -> None:
            for fields, (name, library) in product(settings, classes.items()):
                config = library.Config(eval_every=0, **fields)
                modules = answer, *self.solution.all_right[1:]
                parts = [getattr(module, name) for module in modules]
                got, *wants = (_trained(library, config, part) for part in parts)
                wants.append(_trained(library, config, library.Trainer))
                wrongs = [_first_unlike(got, want) for want in wants]
                expect(not all(wrongs), wrongs[-1])

        self.properties[says] = holds

    def compare(
        self, answer: Any, solve: Callable[[Any], Results], tolerance: float = 1e-4
    ) -> None:
        """Raise `Wrong` unless an answer's results are those of a right solution;
        `solve` gives the results of a module."""
        got = solve(answer)
        wants = [solve(right) for right in self.solution.all_right]
        wrongs = [difference(got, want, tolerance) for want in wants]
        if all(wrongs):
            raise Wrong(wrongs[0], self.solution.hint(solve, got, tolerance))

    def leaves(self, answer: Any, function: Function, case: Sequence[Any]) -> None:
        """Raise `Wrong` if an answer's function changes an argument."""
        given, names = copy.deepcopy(case), self._arguments(function)
        _call(answer, function, given)
        hint = "the argument was changed in place: make a new one"
        for name, part, was in zip(names, given, case, strict=False):
            if hasattr(was, "dtype"):
                expect_close(part, was, named=name, hint=hint)

    def _solves(
        self, says: str, solve: Callable[[Any], Results], tolerance: float = 1e-4
    ) -> None:
        """What `solve` gives of an answer must be the solution's."""
        self.properties[says] = lambda answer: self.compare(answer, solve, tolerance)

    def _arguments(self, function: Function) -> list[str]:
        """The names of a function's arguments, without the module."""
        if callable(function):
            return list(inspect.signature(function).parameters)[1:]
        right = getattr(self.solution.right, function)
        return list(inspect.signature(right).parameters)


def flags(count: int, *steps: Sequence[int]) -> list[Tensor]:
    """Bool `[count]` for each list of steps: True at those steps."""
    return [torch.tensor([t in some for t in range(count)]) for some in steps]


def _name(function: Function) -> str:
    """What to call it in a message."""
    return function if isinstance(function, str) else function.__name__.strip("_")


def _call(module: Any, function: Function, given: Sequence[Any]) -> Any:
    """What a function gives."""
    if isinstance(function, str):
        return getattr(module, function)(*given)
    return function(module, *given)


def _parts(
    result: Any, named: str | Sequence[str], only: set[str], function: Function
) -> dict[str, Any]:
    """A result's parts by their names, of which there must be as many; or some."""
    none = f"{_name(function)} returns None"
    expect(result is not None, none, "does the function return its result?")
    if isinstance(named, str):
        return {named: result}
    complete = isinstance(result, tuple | list) and len(result) == len(named)
    kind, count = type(result).__name__, len(named)
    wrong = f"{_name(function)} returns a {kind}, expected {count} results"
    expect(complete, wrong, f"return {', '.join(named)}, in this order")
    parts = dict(zip(named, result, strict=True))
    return {name: parts[name] for name in parts if not only or name in only}


def _trained(library: Any, config: Any, part: Any) -> list[dict[str, float]]:
    """What is logged of learning with an algorithm, model or trainer."""
    try:
        return logged(trainer_class(part)(config))
    except FloatingPointError as error:  # as soon as a loss is NaN
        raise Wrong(str(error).partition(" (")[0]) from error


def _first_unlike(got: Results, want: Results) -> str:
    """Of updates' metrics, those of one name, the first that are not equal."""
    for update, (mine, right) in enumerate(zip(got, want, strict=False), 1):
        for name in [name for name in mine if name in right]:
            if difference([mine], [{name: right[name]}], 1e-3):
                found = f"{name} is {mine[name]:.5g} in update {update}"
                return f"{found}, expected {right[name]:.5g}"
    return ""


def _learns(given: list[Any], of: int) -> list[Tensor]:
    """What may get a gradient of argument number `of`, after this call."""
    if isinstance(given[of], nn.Module):
        return list(given[of].parameters())
    given[of] = torch.as_tensor(given[of]).requires_grad_()
    return [given[of]]


def _moved_by(result: Any, inputs: list[Tensor]) -> bool:
    """Whether a result has a gradient for the inputs that is not 0."""
    results = result if isinstance(result, tuple) else (result,)
    sums = [part.sum() for part in results if getattr(part, "requires_grad", False)]
    found = torch.autograd.grad(sums, inputs, allow_unused=True) if sums else ()
    return any(part is not None and bool(part.any()) for part in found)
