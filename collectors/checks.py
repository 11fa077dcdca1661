"""Checks of observations, rewards and actions, before anything learns from them."""

from functools import reduce
from operator import getitem
from typing import Any

import numpy as np
import torch
from gymnasium.vector import VectorEnv
from torch import Tensor

from yieldrl.envs.arrays import MisfitError, in_dtype, leaves
from yieldrl.foundations import spaces
from yieldrl.foundations.conversion import as_array

MAX_SQUARE = float(np.finfo(np.float32).max) ** 2  # of what float32 holds


def check_values(envs: Any, leaves: list[Any], obs: Any, step: int) -> None:
    """ValueError if observations hold what the dtypes of their leaves cannot hold."""
    for path, space, dtype in leaves:
        leaf = reduce(getitem, path, obs)
        if _holds(leaf, dtype):
            continue
        array = as_array(leaf)
        try:
            in_dtype(array, dtype)
        except MisfitError:
            _refuse(envs, array, path, space, step)


def check_rewards(envs: VectorEnv[Any, Any, Any], reward: Any, *flags: Any) -> None:
    """Raise ValueError unless rewards are real numbers `[N]`, and flags booleans."""
    names = ("reward", "terminated", "truncated")
    for name, value in zip(names, (reward, *flags), strict=True):
        shape, dtype = np.shape(value), getattr(value, "dtype", None)
        if name != "reward":  # 0 and 1 would be the indices of two environments
            fits, wanted = dtype in (torch.bool, np.bool_), "boolean"
        elif isinstance(value, Tensor):
            fits, wanted = not value.is_complex(), "real number"
        else:
            fits, wanted = np.asarray(value).dtype.kind in "biuf", "real number"
        if shape != (envs.num_envs,) or not fits:
            raise ValueError(
                f"{envs} returned {name} of shape {tuple(shape)} and dtype"
                f" {dtype or type(value).__name__}: must be a {wanted} for each of its"
                f" {envs.num_envs} environments"
            )


def _refuse(
    envs: Any, array: np.ndarray, path: spaces.Path, space: Any, step: int
) -> None:
    for i, row in enumerate(array):
        try:
            in_dtype(row, np.dtype(space.dtype))
        except MisfitError as reason:
            name = "".join(f"[{key!r}]" for key in path)
            raise ValueError(
                f"environment {i} of {envs} returned observation{name} with {reason},"
                f" at step {step}; its space is {space}: make the two agree"
            ) from None


def _holds(leaf: Any, dtype: np.dtype[Any]) -> bool:
    """Whether every array, or tensor, of this kind has values that `dtype` can hold."""
    if not isinstance(leaf, Tensor):
        return getattr(leaf, "dtype", None) == dtype
    if dtype.kind == "f":
        return not leaf.is_complex()
    return leaf.dtype == torch.from_numpy(np.empty(0, dtype)).dtype


def check_action(action: Any, reason: Exception | None = None) -> None:
    """Raise FloatingPointError if an action is not finite: the policy is the cause."""
    values = as_array(action)
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return
    where = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
    env = f"environment {where[0]}" if where else "the environment"
    raise FloatingPointError(
        f"the policy gave {env} the action {values[where[0]] if where else values}:"
        " its networks have diverged (or its observations were not finite before)."
        " Lower the learning rate, or scale observations and rewards"
    ) from reason


def are_finite(*trees: Any) -> bool:
    """Whether arrays, nested or not, are finite as float32, by their sum of squares."""
    total = 0.0
    for tree in trees:
        for leaf in map(np.asarray, leaves(tree) if hasattr(tree, "items") else [tree]):
            if leaf.dtype.kind == "f":
                total += float(np.vdot(leaf, leaf))
    return total <= MAX_SQUARE


def check_answer(obs: Any, when: str, *, reward: Any = (), action: Any = ()) -> None:
    """Raise an error for the first value that is not finite: an action is the cause."""
    check_action(action)
    for name, values in [("reward", reward), *named_leaves(obs, "observation")]:
        array = as_array(values)
        if array.dtype.kind == "f":
            check_finite(name, array, when)


def check_finite(name: str, values: np.ndarray, when: str) -> None:
    """Raise ValueError, which names the first, if a value is not finite.

    Environments are the last axis of rewards `[..., N]`, the first of observations.
    """
    with np.errstate(over="ignore"):
        where = np.argwhere(~np.isfinite(values.astype(np.float32)))
    if len(where) == 0:
        return
    env = where[0][-1] if name == "reward" else where[0][0]
    raise ValueError(
        f"environment {env} returned {name} {values[tuple(where[0])]} in {when}"
        f" (index {tuple(int(i) for i in where[0])} of shape {values.shape}): rewards"
        " and observations must be finite, as float32; find the division or overflow in"
        " the environment's step or reset, or clip there"
    )


def named_leaves(obs: Any, name: str) -> list[tuple[str, Any]]:
    """The leaves of an observation, with names such as `observation['camera']`."""
    if not hasattr(obs, "items"):
        return [(name, obs)]
    return [leaf for k in obs for leaf in named_leaves(obs[k], f"{name}[{k!r}]")]
