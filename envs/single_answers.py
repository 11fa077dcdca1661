"""Checks of the results of a single environment, with errors that name it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium import Space
from gymnasium.spaces import Dict, Tuple

from yieldrl.envs.arrays import ARRAYS, MisfitError, in_dtype


class Place(NamedTuple):
    """An environment's index in a batch, and the step, for messages."""

    number: int
    env: Any
    step: int

    def __str__(self) -> str:
        return f"environment {self.number}, {self.env}, at step {self.step}"


PAIR = "an observation and a dict of info"
FIVE = "observation, reward, terminated, truncated and a dict of info"


def first_answer(answer: Any, place: Place) -> tuple[Any, dict[str, Any]]:
    """Check a result of `reset`: an observation and a dict."""
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise TypeError(f"reset() of {place} must return {PAIR}, got {_shown(answer)}")
    if not isinstance(answer[1], dict):
        got = f"as info {_shown(answer[1])}"
        raise TypeError(f"reset() of {place} must return {PAIR}, got {got}")
    return answer


NUMBERS = frozenset({float, int, bool, np.float64, np.float32, np.int64, np.bool_})
"""Classes of rewards that need no check."""
FLAGS = frozenset({bool, np.bool_})
"""Classes of `terminated` and `truncated` that need no check."""


def step_answer(
    answer: Any, place: Place
) -> tuple[Any, float, bool, bool, dict[str, Any]]:
    """Check a result of `step`; rewards and flags become plain numbers."""
    if not (isinstance(answer, tuple | list) and len(answer) == 5):
        raise TypeError(f"step() of {place} must return {FIVE}, got {_shown(answer)}")
    obs, reward, terminated, truncated, info = answer
    if not isinstance(info, dict):
        got = f"as info {_shown(info)}"
        raise TypeError(f"step() of {place} must return {FIVE}, got {got}")
    reward = _one("reward", reward, place)
    terminated = _flag("terminated", terminated, place)
    return obs, reward, terminated, _flag("truncated", truncated, place), info


def check_observation(space: Space, obs: Any, place: Place, name: str = "") -> None:
    """Raise ValueError if an observation does not fit its space; ignores bounds."""
    wrong, wanted = None, f"{space} and has the shape {space.shape}"
    children: Any = ()  # their keys and spaces
    if isinstance(space, Dict):
        if hasattr(obs, "items") and space.keys() <= set(obs):
            children = space.items()
        else:
            wrong, wanted = _shown(obs), f"a Dict of {sorted(space)}"
    elif isinstance(space, Tuple):
        if isinstance(obs, tuple | list) and len(obs) == len(space.spaces):
            children = enumerate(space.spaces)
        else:
            wrong, wanted = _shown(obs), f"a Tuple of {len(space.spaces)}"
    elif isinstance(space, ARRAYS):
        wrong = _what_misfits(space, obs)
    if wrong is not None:
        raise ValueError(
            f"{place} returned observation{name} {wrong}; its observation_space is"
            f" {wanted}: make the two agree"
        )
    for key, child in children:
        check_observation(child, obs[key], place, f"{name}[{key!r}]")


def _what_misfits(space: Space, obs: Any) -> str | None:
    """The error of an observation of an array space, as text; None if valid."""
    try:
        array = np.asarray(obs)
    except (TypeError, ValueError) as reason:
        return f"{_shown(obs)}, which is no array ({reason})"
    if array.dtype.kind not in "biufc":
        text = "sentences have a gymnasium.spaces.Text"
        return f"{_shown(obs)}, which is no number ({text})"
    if array.shape != space.shape:
        return f"of shape {array.shape}"
    try:
        in_dtype(array, np.dtype(space.dtype))
    except MisfitError as reason:
        return f"with {reason}"
    return None


def declared_names(env: gym.Env, attribute: str) -> tuple[str, ...]:
    """The names in an attribute of an environment, or of a wrapper around it."""
    known = env.has_wrapper_attr(attribute)
    names = env.get_wrapper_attr(attribute) if known else ()
    if isinstance(names, str):
        raise TypeError(
            f"{attribute} of {env} is {names!r}: give a tuple, ({names!r},)"
        )
    return tuple(names)


def _flag(name: str, value: Any, place: Place) -> bool:
    number = _one(name, value, place, wanted := "True or False")
    if number not in (0, 1):
        raise ValueError(f"{place} returned the {name} {value!r}: must be {wanted}")
    return bool(number)


def _one(name: str, value: Any, place: Place, wanted: str = "one number") -> float:
    """A number that may come in an array or a list of one, or in a tensor."""
    value = value.detach().cpu() if hasattr(value, "detach") else value
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):  # for example parts of different shapes
        array = np.asarray(None)
    if array.size != 1:
        got = f"a {name} of shape {array.shape}"
        raise ValueError(f"{place} returned {got}: must be {wanted}")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{place} returned the {name} {value!r}: must be {wanted}")
    return float(array.item())


def _shown(value: Any) -> str:
    text = repr(value)
    text = text if len(text) < 80 else text[:77] + "..."
    size = f" of {len(value)}" if isinstance(value, tuple) else ""
    return f"{type(value).__name__}{size}: {text}"


SUCCESS = ("success", "is_success")
"""Names of success in info: Meta-World and many others; Gymnasium's robots."""


def succeeded(info: Mapping[str, Any]) -> bool | None:
    """Whether an info of one environment reports a success; None if it has no entry."""
    said = said_of_success(info)
    return None if said is None else bool(np.asarray(said).any())


def said_of_success(info: Mapping[str, Any]) -> Any | None:
    """The success entry of an info, or of a dict within it; None if missing.

    >>> said_of_success({"success": True}), said_of_success({"task": {"is_success": 0}})
    (True, 0)
    """
    for name in SUCCESS:
        if name in info and not isinstance(info[name], Mapping):
            return info[name]
    parts = (v for k, v in info.items() if k != "final_info" and isinstance(v, Mapping))
    return next((x for x in map(said_of_success, parts) if x is not None), None)
