"""Calls of an answer's functions, and short training runs in which an answer is
compared with the library."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from yieldrl.exercises.comparing import expect, expect_close

Function = str | Callable[..., Any]
"""The name of an answer's function, or a function of the answer and the arguments."""
Names = str | Sequence[str]
"""What a result is called, or each of several."""


def flags(count: int, *steps: Sequence[int]) -> list[Tensor]:
    """Bool `[count]` for each list of steps: True at those steps."""
    return [torch.tensor([t in some for t in range(count)]) for some in steps]


def call(module: Any, function: Function, given: Sequence[Any]) -> Any:
    """What a function gives."""
    if isinstance(function, str):
        return getattr(module, function)(*given)
    return function(module, *given)


def name_of(function: Function) -> str:
    """What to call it in a message."""
    return function if isinstance(function, str) else function.__name__.strip("_")


def parts(result: Any, named: Names, function: Function) -> list[Any]:
    """A result's parts, of which there must be as many as names."""
    if isinstance(named, str):
        return [result]
    complete = isinstance(result, tuple | list) and len(result) == len(named)
    kind, count = type(result).__name__, len(named)
    some = f"{name_of(function)} returns a {kind}, expected {count} results"
    expect(complete, some, f"return {', '.join(named)}, in this order")
    return list(result)


def learns(given: list[Any], of: int) -> list[Tensor]:
    """What may get a gradient of argument number `of`, after this call."""
    if isinstance(given[of], nn.Module):
        return list(given[of].parameters())
    given[of] = torch.as_tensor(given[of]).requires_grad_()
    return [given[of]]


def moved_by(result: Any, inputs: list[Tensor]) -> bool:
    """Whether a result has a gradient for the inputs that is not 0."""
    results = result if isinstance(result, tuple) else (result,)
    tensors = [part for part in results if isinstance(part, Tensor)]
    sums = [part.sum() for part in tensors if part.requires_grad]
    found = torch.autograd.grad(sums, inputs, allow_unused=True) if sums else ()
    return any(part is not None and bool(part.any()) for part in found)


def train(trainer: Any) -> None:
    """Train to the end."""
    with trainer:
        for _ in trainer():
            pass


def variant(cls: Any, **members: Any) -> Any:
    """A class with other members: `variant(Trainer, algorithm_class=Mine)`."""
    return type(cls.__name__, (cls,), members)


def watched(answer: Any, library: Any, *methods: str, tolerance: float = 1e-4) -> Any:
    """A class whose named methods are compared with the library's whenever they are
    called; of a tuple the first part."""

    def compared(name: str) -> Any:
        def method(self: Any, *inputs: Any) -> Any:
            state = torch.get_rng_state()
            want = getattr(library, name)(self, *inputs)
            torch.set_rng_state(state)  # both draw the same random numbers
            got = getattr(answer, name)(self, *inputs)
            one, other = (of[0] if isinstance(of, tuple) else of for of in (got, want))
            expect_close(one, other, named=name, tolerance=tolerance)
            return got

        return method

    return variant(answer, **{name: compared(name) for name in methods})
