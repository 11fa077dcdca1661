"""Explain names of other libraries and of earlier versions."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

ENTRIES = {  # rollout entry in other libraries -> ours
    "observation": "obs",
    "done": "terminated and truncated",
    "sample_log_prob": "log_prob",
    "state_value": "value",
    "return": "returns",
}


def arguments_here(
    usage: str, **ours: str
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator: a call with wrong arguments raises TypeError with the remedy.

    `usage` is the correct call, `ours` maps an argument to what to do instead.

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
            for word in filter(ours.get, kwargs):
                said = f"{name}() takes no {word!r}: {ours[word]}, as in {usage}"
                raise TypeError(said)
            try:
                signature.bind(*args, **kwargs)
            except TypeError as reason:
                said = f"{name}(): {reason}; call it as in {usage}"
                raise TypeError(said) from None
            return function(*args, **kwargs)

        return call

    return decorate


class CalledHere:
    """An attribute of another library: reading it is an error that names `instead`."""

    def __init__(self, instead: str) -> None:
        self.instead, self.name = instead, ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        raise AttributeError(
            f"{type(instance).__name__!r} object has no attribute {self.name!r}:"
            f" {self.instead}",
            name=self.name,
            obj=instance,
        )


def takes(function: Callable[..., Any], argument: str) -> bool:
    """Whether a function can be called with an argument of this name."""
    known = inspect.signature(function).parameters
    return argument in known or any(p.kind is p.VAR_KEYWORD for p in known.values())


def check_entries(data: Any) -> None:
    """ValueError if a rollout, a TensorDict, has an entry under another library's name
    and not ours, or if rewards or ends are not one number per step."""
    names = set(data.keys())
    for name in names & {"reward", "terminated", "truncated"}:
        if (got := data[name].shape) != data.batch_size:  # it would be broadcast
            raise ValueError(
                f"{name!r} of a rollout {list(data.batch_size)} has the shape"
                f" {list(got)}: give one number for each step, squeeze(-1) say"
            )
    for word, ours in ENTRIES.items():
        if word in names and not set(ours.split(" and ")) <= set(names):
            raise ValueError(
                f"a rollout has the entry {word!r}: rename it, here it is {ours}"
            )


def moved_names(module: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's `__getattr__` whose error names the new place of an old name."""

    def get(name: str) -> NoReturn:
        if name in places:  # ImportError also shows for `from old import Thing`
            raise ImportError(f"{module}.{name} is {places[name]} now")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return get


class Renamed:
    """An old name of an attribute: reads and writes the `new` one.

    A child class of `OldNames` that sets the old name sets the new one.
    """

    def __init__(self, new: str) -> None:
        self.new = new

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else getattr(instance, self.new)

    def __set__(self, instance: Any, value: Any) -> None:
        setattr(instance, self.new, value)


class OldNames:
    """Base class whose subclasses may set `Renamed` attributes by their old names."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for base in cls.__mro__[1:]:
            for name, renamed in vars(base).items():
                if isinstance(renamed, Renamed) and name in vars(cls):
                    setattr(cls, renamed.new, vars(cls)[name])
                    delattr(cls, name)
