"""A function of tensors that draws random numbers, as one compiled function."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from yieldrl.foundations import drawing_from
from yieldrl.foundations.drawing import Draw, RecordDraws, ReplayDraws
from yieldrl.speed.compiled import Compiled, NotCompiledError
from yieldrl.speed.plan import Plan


class CompiledCall:
    """Calls a function, or its compiled code once there is some.

    Random numbers are drawn outside of the code, from the generator that is given, in
    the function's own order. Results differ from the function's by rounding alone.

    >>> plan = Plan("eager", 0, lambda: 0)
    >>> double = CompiledCall("doubling", lambda x, _: {"twice": 2 * x["x"]}, plan)
    >>> double({"x": torch.ones(2)}, torch.Generator())
    {'twice': tensor([2., 2.])}
    """

    def __init__(self, name: str, function: Callable[..., Any], plan: Plan) -> None:
        self.function = function
        self.compiled = Compiled(name, self.with_random_numbers, plan)
        self.compiled.eager = self.without_code
        self.compiled.coded = self.with_code
        self._draws: list[Draw] | None = None

    def __call__(self, inputs: dict[str, Any], generator: torch.Generator) -> Any:
        """The function's result for nested tensors: tensors by name."""
        found = self.call_compiled(inputs, generator)
        return self.function(inputs, generator) if found is None else found

    def call_compiled(self, inputs: dict[str, Any], generator: torch.Generator) -> Any:
        """The result of compiled code; None if the function itself must be called."""
        if self.compiled.rejected or not self.compiled.plan.compiles:
            return None
        if self._draws is None:
            return self._noted(inputs, generator)
        if not self.compiled.is_due(
            lambda: self._arguments(inputs, torch.Generator(generator.device))
        ):
            return None
        before, draws = generator.get_state(), self._draws
        try:
            return self.with_code(inputs, generator)
        except NotCompiledError as reason:
            generator.set_state(before)
            answer = self._noted(inputs, generator)
            if self._draws == draws:  # else try again with the new draws
                self.compiled.reject(str(reason))
            return answer

    def with_random_numbers(
        self,
        inputs: dict[str, Any],
        generator: torch.Generator,
        numbers: list[Tensor],
        kinds: list[Any],
    ) -> Any:
        """The function with random numbers that were drawn before."""
        left = list(zip(numbers, kinds, strict=True))
        with torch.no_grad(), ReplayDraws(left):
            found = self.function(inputs, generator)
        if left:
            raise ValueError("fewer random numbers are drawn than before")
        return found

    def without_code(self, inputs: Any, generator: torch.Generator, *_: Any) -> Any:
        """The function itself, which draws its random numbers."""
        return self.function(inputs, generator)

    def with_code(self, inputs: Any, generator: torch.Generator, *_: Any) -> Any:
        """The result of the code, with random numbers that are drawn now."""
        arguments = self._arguments(inputs, generator)
        if self._draws:
            return self.compiled(*arguments)
        with drawing_from(generator):  # it may draw globally
            return self.compiled(*arguments)

    def _arguments(self, inputs: Any, generator: torch.Generator) -> tuple[Any, ...]:
        """Arguments of `with_random_numbers`, with the next random numbers."""
        draws = self._draws or []
        numbers = [draw(generator) for draw in draws]
        return inputs, generator, numbers, [draw.kind for draw in draws]

    def _noted(self, inputs: dict[str, Any], generator: torch.Generator) -> Any:
        """The result of the function itself, whose random draws are recorded."""
        with RecordDraws() as record:
            found = self.function(inputs, generator)
        self._draws = record.draws
        if record.unknown is not None:
            self.compiled.reject(f"it draws random numbers by {record.unknown}")
        return found
