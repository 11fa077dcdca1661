"""Short training runs, in which an answer is compared with the library."""

from __future__ import annotations

from typing import Any

import torch

from yieldrl.exercises.comparing import expect_close


def train(trainer: Any) -> None:
    """Train to the end."""
    with trainer:
        for _ in trainer():
            pass


def variant(cls: Any, **members: Any) -> Any:
    """A class with other members: `variant(Trainer, algorithm_class=Mine)`."""
    return type(cls.__name__, (cls,), members)


def watched(answer: Any, library: Any, *methods: str, tolerance: float = 1e-4) -> Any:
    """A class whose methods are compared with the library's whenever they are called.

    Args:
        answer: The answer's class.
        library: A class that has the methods as they should be.
        methods: Their names. Of a tuple the first part is compared.
        tolerance: Largest difference, absolute or relative.
    """

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
