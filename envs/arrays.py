"""Batches of observations and states: arrays or tensors, nested in dicts or not."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from gymnasium import Space
from gymnasium.spaces import Dict
from torch import Tensor

ResetResult = tuple[Any, dict[str, Any]]
"""Result of `reset`: observations and info."""

StepResult = tuple[Any, Any, Any, Any, dict[str, Any]]
"""Result of `step`: observations, reward, terminated, truncated and info."""


def stacked(space: Space, observations: Sequence[Any], name: str = "") -> Any:
    """Stack observations of single environments as `[N, ...]` in the space's dtype;
    ValueError if one has another form or shape, or the dtype cannot hold a value."""
    if isinstance(space, Dict):
        for one in observations:
            if not (hasattr(one, "items") and space.keys() <= set(one)):
                raise ValueError(
                    f"observation{name} {truncated_repr(one)}, no Dict of"
                    f" {sorted(space)}"
                )
        return {
            key: stacked(child, [one[key] for one in observations], f"{name}[{key!r}]")
            for key, child in space.items()
        }
    try:  # without a dtype, so that wrong shapes and values are found, not cast
        batch = np.array(observations)
    except (TypeError, ValueError) as reason:
        raise ValueError(f"observation{name} that is no array ({reason})") from None
    if batch.shape[1:] != space.shape:
        raise ValueError(
            f"observation{name} of shape {batch.shape[1:]}, not {space.shape}"
        )
    dtype = np.dtype(space.dtype)
    try:
        if batch.dtype.kind == "f" and dtype.kind in "iub":
            # Integers mixed with floats were rounded: convert each separately.
            return np.array([in_dtype(np.asarray(one), dtype) for one in observations])
        return in_dtype(batch, dtype)
    except ValueError as reason:
        raise ValueError(f"observation{name} with {reason}") from None


def truncated_repr(value: Any) -> str:
    """The class of a value, its length if it is a tuple, and how it begins."""
    text = repr(value)
    text = text if len(text) < 80 else text[:77] + "..."
    size = f" of {len(value)}" if isinstance(value, tuple) else ""
    return f"{type(value).__name__}{size}: {text}"


def in_dtype(array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Convert an array to a dtype; ValueError if it cannot represent every value.
    Floats may be rounded to fewer digits, and integers to the nearest float."""
    if array.dtype == dtype:
        return array
    if array.dtype.kind not in "biuf":
        first = next(iter(array.reshape(-1).tolist()), array)
        raise ValueError(f"{first!r}, which is no real number")
    with np.errstate(over="ignore", invalid="ignore"):
        cast = array.astype(dtype)
    if dtype.kind == "f":
        narrows = array.dtype.kind == "f" and array.dtype.itemsize > dtype.itemsize
        lost = np.isinf(cast) & np.isfinite(array) if narrows else None
    else:  # NaN is unequal to itself
        lost = cast != array
    if lost is not None and np.count_nonzero(lost):
        raise ValueError(f"{array[lost][0]}, which {dtype} cannot hold")
    return cast


def leaves(tree: Any) -> list[Any]:
    """The arrays and tensors in nested dicts, tuples and lists, in order."""
    if isinstance(tree, Tensor | np.ndarray):
        return [tree]
    if hasattr(tree, "items"):
        tree = list(tree.values())
    nested = isinstance(tree, tuple | list)
    return [leaf for child in tree for leaf in leaves(child)] if nested else []


def replaced(obs: Any, other: Any, where: Any) -> Any:
    """A copy of `obs` with the rows of `other` where `where [N]` is True."""
    if hasattr(obs, "items"):
        return {name: replaced(obs[name], other[name], where) for name in obs}
    if isinstance(obs, Tensor):
        mask = where.reshape(-1, *[1] * (obs.ndim - 1))
        return torch.where(mask, other, obs)
    copy = np.array(obs)
    if where.any():
        rows = other[where]
        copy[where] = np.stack(rows) if rows.dtype == object else rows
    return copy


def copied(value: Any) -> Any:
    """Copy arrays and tensors, nested or not; other values are returned unchanged."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if hasattr(value, "items"):
        return {name: copied(child) for name, child in value.items()}
    if isinstance(value, Tensor):
        return value.clone()
    return deepcopy(value) if isinstance(value, tuple | list) else value


def as_tensors(value: Any) -> Any:
    """Arrays, nested or not, as tensors that share memory; other values unchanged."""
    if isinstance(value, Mapping):
        return {name: as_tensors(child) for name, child in value.items()}
    if isinstance(value, np.ndarray):
        return torch.from_numpy(np.require(value, requirements=("C", "W")))
    return value


def tree_map(function: Callable[..., Any], *trees: Any) -> Any:
    """Apply a function to tensors, or to those in dicts of the same structure."""
    if isinstance(trees[0], Tensor):  # first, because the check for a Mapping is slow
        return function(*trees)
    if isinstance(trees[0], Mapping):
        return {k: tree_map(function, *(tree[k] for tree in trees)) for k in trees[0]}
    return None if trees[0] is None else function(*trees)


def where(mask: Tensor, this: Any, other: Any) -> Any:
    """Columns of `this`, `[..., N]`, where the mask `[N]` is True, else of `other`."""
    return tree_map(lambda x, y: torch.where(mask, x, y), this, other)


def clone(tree: Any) -> Any:
    """Copies of the tensors, detached from the autograd graph."""
    return tree_map(lambda x: x.detach().clone(), tree)


def layout(tree: Any) -> Any:
    """The dtype and shape of each tensor, to compare and to print."""
    return tree_map(lambda x: f"{str(x.dtype)[6:]}{list(x.shape)}", tree)
