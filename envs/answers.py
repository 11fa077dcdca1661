"""Checks of what single environments return, with errors that name the environment."""

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from yieldrl.core.conversion import as_array
from yieldrl.envs.arrays import (
    ResetResult,
    StepResult,
    stacked,
    tree_map,
    truncated_repr,
)

NUMBERS = frozenset({float, int, bool, np.float64, np.float32, np.int64, np.bool_})
"""Classes of rewards that need no check."""

FLAGS = frozenset({bool, np.bool_})
"""Those of `terminated` and `truncated`."""

SUCCESS = ("success", "is_success")
"""Names of success in info: Meta-World and many others; Gymnasium's robots."""


class CheckedEnv(gym.Wrapper):
    """An environment of a batch that checks what it returns; errors name it.

    Rewards and flags may come in an array, a list or a tensor of one.

    Args:
        env: The environment.
        index: Its place in the batch.

    Raises:
        TypeError, ValueError: At a reset or step, if the result is something else.
    """

    def __init__(self, env: gym.Env, index: int) -> None:
        super().__init__(env)
        self.index, self.steps = index, 0  # in this episode

    @property
    def place(self) -> str:
        """Which environment it is, and the step, for messages."""
        return f"environment {self.index}, {self.env}, at step {self.steps}"

    @property
    def spec(self) -> Any:
        """That of the environment, which this wrapper is no part of."""
        return self.env.spec

    def reset(self, *, seed: Any = None, options: Any = None) -> ResetResult:
        self.steps = 0
        answer: Any = self.env.reset(seed=seed, options=options)
        pair = isinstance(answer, tuple) and len(answer) == 2
        if not (pair and isinstance(answer[1], dict)):
            raise TypeError(
                f"reset() of {self.place} must return an observation and a dict of"
                f" info, got {truncated_repr(answer)}"
            )
        return self.checked(answer[0]), answer[1]

    def step(self, action: Any) -> StepResult:
        self.steps += 1
        answer: Any = self.env.step(action)
        if (
            answer.__class__ is tuple
            and len(answer) == 5
            and answer[1].__class__ in NUMBERS
            and answer[2].__class__ in FLAGS
            and answer[3].__class__ in FLAGS
            and answer[4].__class__ is dict
        ):
            return answer
        five = isinstance(answer, tuple | list) and len(answer) == 5
        if not (five and isinstance(answer[4], dict)):
            raise TypeError(
                f"step() of {self.place} must return observation, reward, terminated,"
                f" truncated and a dict of info, got {truncated_repr(answer)}"
            )
        obs, reward, terminated, truncated, info = answer
        for name, flag in (("terminated", terminated), ("truncated", truncated)):
            if _number(flag) not in (0, 1):
                raise ValueError(
                    f"{self.place} returned the {name} {flag!r}: must be True or False"
                )
        number = _number(reward)
        if number is None:
            raise ValueError(
                f"{self.place} returned the reward {reward!r}: must be one number"
            )
        return obs, number, _number(terminated) == 1, _number(truncated) == 1, info

    def checked(self, obs: Any) -> Any:
        """A copy of an observation in the dtype of its space; ValueError if it does not
        fit. Bounds are ignored."""
        space = self.observation_space
        try:
            return tree_map(lambda batch: batch[0], stacked(space, [obs]))
        except ValueError as reason:
            raise ValueError(
                f"{self.place} returned {reason}; its observation_space is {space}:"
                " make the two agree"
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
