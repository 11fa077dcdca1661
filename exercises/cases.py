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
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from yieldrl.exercises.checking import Property
from yieldrl.exercises.comparing import Wrong, expect, expect_close, like
from yieldrl.exercises.mistakes import Change, Results, Solution

Function = str | Callable[..., Any]
"""The name of an answer's function, or a function of the answer and the arguments."""
Names = str | Sequence[str]
"""What a result is called, or each of several."""
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
        only: Names = (),
        hint: str = "",
        tolerance: float = 1e-4,
    ) -> list[Property]:
        """In all cases an answer must give what the solution gives.

        `table` has a property, in one sentence, and its cases, which are arguments of
        the function; the next property and its cases. Of several results that are
        `named`, `only` some may count. The `hint` is for results that are those of no
        known mistake.
        """
        rows: dict[str, list[Any]] = {}
        for part in table:
            if isinstance(part, str):
                rows[part] = []
            else:
                rows[list(rows)[-1]].append(part)
        named = named or _name(function)
        made = []
        for says, cases in rows.items():

            def solve(module: Any, cases: Any = cases) -> Results:
                results = [_call(module, function, copy.deepcopy(of)) for of in cases]
                return [_parts(result, named, only, function) for result in results]

            made.append(self.alike(says, solve, only or named, tolerance, hint))
        return made

    def alike(
        self,
        says: str,
        solve: Callable[[Any], Results],
        named: Names,
        tolerance: float = 1e-4,
        hint: str = "",
    ) -> Property:
        """What `solve` gives of a module must be the solution's."""

        def holds(answer: Any) -> None:
            self.compare(answer, solve, named, tolerance, hint)

        return self._property(says, holds)

    def gradient(
        self, says: str, function: Function, case: Sequence[Any], of: int, hint: str
    ) -> Property:
        """The gradient for argument number `of` must be the solution's; the `hint` is
        for results that have none."""

        def solve(module: Any) -> Results:
            given = list(copy.deepcopy(case))
            inputs = _learns(given, of)
            result = _call(module, function, given)
            some = isinstance(result, Tensor) and result.requires_grad
            expect(some, f"the result of {_name(function)} has no gradient", hint)
            return [list(torch.autograd.grad(result.sum(), inputs))]

        return self.alike(says, solve, "gradient")

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
                _call(answer, function, given)
                names = self._arguments(function)
                for name, part, was in zip(names, given, case, strict=False):
                    if hasattr(was, "dtype"):
                        expect_close(part, was, named=name, hint=in_place)
            function, case = calls[0]
            for number in of:
                given = list(copy.deepcopy(case))
                inputs = _learns(given, number)
                moved = _moved_by(_call(answer, function, given), inputs)
                name = self._arguments(function)[number]
                text = f"the result of {_name(function)} has a gradient, of {name}"
                expect(not moved, text, hint)

        return self._property(says, holds)

    def trains(
        self,
        says: str,
        trainers: Mapping[str, Any],
        *settings: Mapping[str, Any],
        tolerance: float = 1e-3,
    ) -> Property:
        """Each trainer, by its name in the answer, must log what that of its library's
        module logs with all of these settings."""

        runs = [(*of, fields) for fields in settings for of in trainers.items()]

        def holds(answer: Any) -> None:
            for name, library, fields in runs:
                config = library.Config(eval_every=0, **fields)

                def run(of: Any, name: str = name, config: Any = config) -> Any:
                    try:
                        return logged(getattr(of, name)(config))
                    except FloatingPointError as error:  # as soon as a loss is NaN
                        raise Wrong(str(error).partition(" (")[0]) from error

                got, want = run(answer), logged(library.Trainer(config))
                wrong = _first_unlike(got, want, tolerance)
                also = [run(right) for right in self.solution.all_right[1:]]
                if wrong and all(_first_unlike(got, of, tolerance) for of in also):
                    made = [_numbers(got)]
                    hint = self.solution.hint(
                        lambda of, run=run: [_numbers(run(of))], made, tolerance, True
                    )
                    raise Wrong(wrong, hint)

        return self._property(says, holds)

    def compare(
        self,
        answer: Any,
        solve: Callable[[Any], Results],
        named: Names,
        tolerance: float = 1e-4,
        hint: str = "",
    ) -> None:
        """Raise `Wrong` unless an answer's results are those of a right solution;
        `solve` gives the results of a module."""
        got = solve(answer)
        wants = [solve(right) for right in self.solution.all_right]
        wrongs = [_first_wrong(got, want, named, tolerance) for want in wants]
        if wrongs[0] is not None and None not in wrongs:
            known = self.solution.hint(solve, got, tolerance)
            raise Wrong(wrongs[0].message, known or wrongs[0].hint or hint)

    def _arguments(self, function: Function) -> list[str]:
        """The names of a function's arguments, without the module."""
        if callable(function):
            return list(inspect.signature(function).parameters)[1:]
        right = getattr(self.solution.right, function)
        return list(inspect.signature(right).parameters)

    def _property(self, says: str, holds: Property) -> Property:
        """A property with its statement."""
        holds.__doc__, holds.__module__ = says, self.name
        return holds


def flags(count: int, *steps: Sequence[int]) -> list[Tensor]:
    """Bool `[count]` for each list of steps: True at those steps."""
    return [torch.tensor([t in some for t in range(count)]) for some in steps]


def variant(cls: Any, **members: Any) -> Any:
    """A class with other members: `variant(Trainer, algorithm_class=Mine)`."""
    return type(cls.__name__, (cls,), members)


def logged(trainer: Any) -> list[dict[str, float]]:
    """Train to the end; the numbers that were logged of learning."""
    with trainer:
        logs = [log["logs"] for log in trainer() if log["log_type"] == "train"]
    return [{name: float(value) for name, value in of.items()} for of in logs]


def _name(function: Function) -> str:
    """What to call it in a message."""
    return function if isinstance(function, str) else function.__name__.strip("_")


def _call(module: Any, function: Function, given: Sequence[Any]) -> Any:
    """What a function gives."""
    if isinstance(function, str):
        return getattr(module, function)(*given)
    return function(module, *given)


def _parts(result: Any, named: Names, only: Names, function: Function) -> list[Any]:
    """A result's parts, of which there must be as many as names; of them some."""
    none = f"{_name(function)} returns None"
    expect(result is not None, none, "does the function return its result?")
    if isinstance(named, str):
        return [result]
    complete = isinstance(result, tuple | list) and len(result) == len(named)
    kind, count = type(result).__name__, len(named)
    some = f"{_name(function)} returns a {kind}, expected {count} results"
    expect(complete, some, f"return {', '.join(named)}, in this order")
    return [
        result[named.index(name)]
        for name in ([only] if isinstance(only, str) else only or named)
    ]


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


def _first_unlike(got: list[Any], want: list[Any], tolerance: float) -> str:
    """Of updates' metrics, those of one name, the first that are not equal."""
    for update, (mine, right) in enumerate(zip(got, want, strict=False), 1):
        for name in [name for name in mine if name in right]:
            if not like(mine[name], right[name], tolerance):
                found = f"{name} is {mine[name]:.5g} in update {update}"
                return f"{found}, expected {right[name]:.5g}"
    return ""


def _numbers(logs: list[dict[str, float]]) -> list[Any]:
    """The metrics of updates, without their names."""
    return [list(of.values()) for of in logs]


def _learns(given: list[Any], of: int) -> list[Tensor]:
    """What may get a gradient of argument number `of`, after this call."""
    if isinstance(given[of], nn.Module):
        return list(given[of].parameters())
    given[of] = torch.as_tensor(given[of]).requires_grad_()
    return [given[of]]


def _moved_by(result: Any, inputs: list[Tensor]) -> bool:
    """Whether a result has a gradient for the inputs that is not 0."""
    results = result if isinstance(result, tuple) else (result,)
    tensors = [part for part in results if isinstance(part, Tensor)]
    sums = [part.sum() for part in tensors if part.requires_grad]
    found = torch.autograd.grad(sums, inputs, allow_unused=True) if sums else ()
    return any(part is not None and bool(part.any()) for part in found)
