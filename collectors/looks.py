"""A look at what vector environments answer, before anything is learned from it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium.vector import VectorEnv
from torch import Tensor

from yieldrl.envs.fitting import MisfitError, in_dtype
from yieldrl.foundations import spaces

Leaf = tuple[spaces.Path, Any, np.dtype[Any]]
"""Path, space and dtype of an observation's entry."""


def entries(envs: VectorEnv[Any, Any, Any]) -> list[Leaf]:
    """The entries of the observations, with the dtypes that they should have."""
    found = spaces.leaves(envs.single_observation_space)
    return [(path, space, np.dtype(space.dtype)) for path, space in found]


def check_values(
    envs: VectorEnv[Any, Any, Any], leaves: list[Leaf], obs: Any, step: int
) -> None:
    """Raise ValueError if observations hold a value that their dtype cannot hold.

    Of an array that has the dtype nothing is looked at. Of tensors, which on a GPU wait
    for it, it is asked at a reset alone.
    """
    for path, space, dtype in leaves:
        leaf = obs
        for key in path:
            leaf = leaf[key]
        if _holds(leaf, dtype):
            continue
        array = _as_array(leaf)
        try:
            in_dtype(array, dtype)
        except MisfitError:
            _refuse(envs, array, path, space, step)


def check_numbers(envs: VectorEnv[Any, Any, Any], reward: Any, *flags: Any) -> None:
    """Raise ValueError if a step's rewards or flags `[N]` are of no kind to learn from.

    Only dtypes and shapes are looked at, so no device is waited for.
    """
    names = ("reward", "terminated", "truncated")
    for name, value in zip(names, (reward, *flags), strict=True):
        shape, kind = np.shape(value), _kind(value)
        if shape != (envs.num_envs,) or kind not in "biuf":
            raise ValueError(
                f"{envs} returned {name} of shape {tuple(shape)} and dtype"
                f" {getattr(value, 'dtype', type(value).__name__)}: must be a real"
                f" number for each of its {envs.num_envs} environments"
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


def _as_array(leaf: Any) -> np.ndarray:
    if not isinstance(leaf, Tensor):
        return np.asarray(leaf)
    leaf = leaf.detach().cpu()
    return (leaf.float() if leaf.dtype == torch.bfloat16 else leaf).numpy()


def _kind(value: Any) -> str:
    if not isinstance(value, Tensor):
        return np.asarray(value).dtype.kind
    return "c" if value.is_complex() else "f"
