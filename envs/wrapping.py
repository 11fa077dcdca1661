"""Wrappers of single environments: found by their names, and put around."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, cast

import gymnasium as gym
from gymnasium.vector import VectorWrapper

Wrap = Callable[[gym.Env[Any, Any]], gym.Env[Any, Any]]


def find_wrappers(names: Sequence[str]) -> list[Wrap]:
    """The classes of wrappers that are named `module:Class`.

    Raises:
        ValueError: If one is not there.
    """
    return [_find_wrapper(name) for name in names]


def _find_wrapper(name: str) -> Wrap:
    module, _, attribute = name.partition(":")
    example = "name module:Class, for example gymnasium.wrappers:FlattenObservation"
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (AttributeError, ImportError, ValueError) as reason:
        raise ValueError(
            f"wrappers: {name!r} is not there ({reason}); {example}"
        ) from None
    if isinstance(found, type) and issubclass(found, VectorWrapper):
        raise ValueError(
            f"wrappers: {name!r} goes around a whole batch, and these go around single"
            " environments: make the batch, and pass it in the wrapper as envs="
        )
    if isinstance(found, type) and not issubclass(found, gym.Wrapper):
        raise ValueError(
            f"wrappers: {name!r} is the class {found}, which is no gymnasium.Wrapper:"
            f" {example}, or a function that returns an environment"
        )
    if not callable(found):
        raise ValueError(f"wrappers: {name!r} is {found!r}, no wrapper: {example}")
    return cast("Wrap", found)


def wrapped_in(env: gym.Env[Any, Any], wrap: Wrap) -> gym.Env[Any, Any]:
    """An environment in one of its wrappers.

    Raises:
        TypeError: If the wrapper takes more than the environment, or makes none.
    """
    name = f"{getattr(wrap, '__module__', '')}:{getattr(wrap, '__name__', wrap)}"
    try:
        wrapped = wrap(env)
    except TypeError as reason:
        raise TypeError(
            f"wrappers: {name} cannot be put around {env}: {reason}. It is called with"
            " the environment alone; write a function that gives it what else it needs"
        ) from reason
    if isinstance(wrapped, gym.Env):
        return wrapped
    raise TypeError(
        f"wrappers: {name} made {wrapped!r} of {env}: it must return an environment"
    )


def refuse_wrappers(wrappers: Sequence[Wrap], name: str) -> None:
    """Raise ValueError if there are wrappers that a batch cannot be put into."""
    if wrappers:
        named = ", ".join(getattr(w, "__name__", str(w)) for w in wrappers)
        raise ValueError(
            f"wrappers = ({named}) go around single environments, and {name} is a batch"
            " in one object: set wrappers=(), and pass envs= with a wrapper of"
            " yieldrl.envs.wrappers around it if it needs one"
        )
