"""Checks of what single environments return, with errors that name the environment."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium import Space

from yieldrl.core.conversion import as_array
from yieldrl.envs.arrays import stacked, truncated_repr

NUMBERS = frozenset({float, int, bool, np.float64, np.float32, np.int64, np.bool_})
"""Classes of rewards that need no check."""

FLAGS = frozenset({bool, np.bool_})
"""Classes of `terminated` and `truncated` that need no check."""

SUCCESS = ("success", "is_success")
"""Names of success in info: Meta-World and many others; Gymnasium's robots."""


class Place(NamedTuple):
    """An environment's index in a batch, and the step, for messages."""

    number: int
    env: Any
    step: int

    def __str__(self) -> str:
        return f"environment {self.number}, {self.env}, at step {self.step}"


def check_reset(answer: Any, place: Place) -> tuple[Any, dict[str, Any]]:
    """A result of `reset`; TypeError if it is no observation and dict."""
    pair = isinstance(answer, tuple) and len(answer) == 2
    if not (pair and isinstance(answer[1], dict)):
        raise TypeError(
            f"reset() of {place} must return an observation and a dict of info, got"
            f" {truncated_repr(answer)}"
        )
    return answer


def check_step(
    answer: Any, place: Place
) -> tuple[Any, float, bool, bool, dict[str, Any]]:
    """A result of `step`, with the reward and the flags as plain numbers.

    They may come in an array, a list or a tensor of one. TypeError or ValueError if
    the result is something else.
    """
    five = isinstance(answer, tuple | list) and len(answer) == 5
    if not (five and isinstance(answer[4], dict)):
        raise TypeError(
            f"step() of {place} must return observation, reward, terminated, truncated"
            f" and a dict of info, got {truncated_repr(answer)}"
        )
    obs, reward, terminated, truncated, info = answer
    flags = []
    for name, value in (("terminated", terminated), ("truncated", truncated)):
        flag = _number(value)
        if flag not in (0, 1):
            raise ValueError(
                f"{place} returned the {name} {value!r}: must be True or False"
            )
        flags.append(bool(flag))
    number = _number(reward)
    if number is None:
        raise ValueError(f"{place} returned the reward {reward!r}: must be one number")
    return obs, number, *flags, info


def check_observation(space: Space, obs: Any, place: Place) -> None:
    """Raise ValueError if an observation does not fit its space; ignores bounds."""
    try:
        stacked(space, [obs])
    except ValueError as reason:
        raise ValueError(
            f"{place} returned {reason}; its observation_space is {space}: make the two"
            " agree"
        ) from None


def declared_names(env: gym.Env, attribute: str) -> tuple[str, ...]:
    """The names in an attribute of an environment, or of a wrapper around it."""
    has_names = env.has_wrapper_attr(attribute)
    names = env.get_wrapper_attr(attribute) if has_names else ()
    if isinstance(names, str):
        raise TypeError(
            f"{attribute} of {env} is {names!r}: give a tuple, ({names!r},)"
        )
    return tuple(names)


def succeeded(info: Mapping[str, Any]) -> bool | None:
    """Whether an info of one environment reports a success; None if it has no entry."""
    success = success_entry(info)
    return None if success is None else bool(np.asarray(success).any())


def success_entry(info: Mapping[str, Any]) -> Any | None:
    """The success entry of an info, or of a dict within it; None if missing.

    >>> success_entry({"success": True}), success_entry({"task": {"is_success": 0}})
    (True, 0)
    """
    for name in SUCCESS:
        if name in info and not isinstance(info[name], Mapping):
            return info[name]
    parts = (v for k, v in info.items() if k != "final_info" and isinstance(v, Mapping))
    return next((x for x in map(success_entry, parts) if x is not None), None)


def _number(value: Any) -> float | None:
    """The number in an array, a list or a tensor of one, or None."""
    array = as_array(value)
    if array.size != 1 or array.dtype.kind not in "biuf":
        return None
    return float(array.item())
