"""Words of other libraries that code may use: what they are called here."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

ENTRIES = {
    "observation": "obs",
    "done": "terminated and truncated",
    "sample_log_prob": "log_prob",
    "state_value": "value",
    "return": "returns",
}
"""Their entry of a rollout -> ours."""


def arguments_here(
    usage: str, **ours: str
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: calls that do not fit end in a sentence that says what would.

    Args:
        usage: How it is called here.
        ours: Their argument -> what to do instead.

    >>> @arguments_here("collect(num_steps)", n_steps="call it num_steps")
    ... def collect(num_steps):
    ...     return num_steps
    >>> collect(n_steps=3)
    Traceback (most recent call last):
    TypeError: collect() takes no 'n_steps': call it num_steps, as in collect(num_steps)
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            name = function.__name__
            name = type(args[0]).__name__ if name == "__init__" else name
            for word in kwargs:
                if word in ours:
                    said = f"{name}() takes no {word!r}: {ours[word]}"
                    raise TypeError(f"{said}, as in {usage}")
            try:
                signature.bind(*args, **kwargs)
            except TypeError as reason:
                said = f"{name}(): {reason}; call it as in {usage}"
                raise TypeError(said) from None
            return function(*args, **kwargs)

        return call

    return decorate


class CalledHere:
    """In place of an attribute: who asks for it hears what to do instead.

    To `hasattr` it is not there, and an attribute of an object takes its place.

    Args:
        instead: What to do.
    """

    def __init__(self, instead: str) -> None:
        self.instead, self.name = instead, ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Raises AttributeError, of an object."""
        if instance is None:
            return self
        raise AttributeError(
            f"{type(instance).__name__!r} object has no attribute {self.name!r}:"
            f" {self.instead}",
            name=self.name,
            obj=instance,
        )


def takes(function: Callable[..., Any], argument: str) -> bool:
    """Whether a function can be called with an argument of this name.

    >>> takes(lambda obs: obs, "deterministic"), takes(lambda **kw: kw, "deterministic")
    (False, True)
    """
    known = inspect.signature(function).parameters
    return argument in known or any(p.kind is p.VAR_KEYWORD for p in known.values())


def check_entries(names: Collection[Any]) -> None:
    """Refuse a rollout in other words, some of which would be passed over in silence.

    Raises:
        ValueError: If an entry has one of those names, and ours is not there.
    """
    for word, ours in ENTRIES.items():
        if word in names and not set(ours.split(" and ")) <= set(names):
            raise ValueError(
                f"a rollout has the entry {word!r}: rename it, here it is {ours}"
            )
