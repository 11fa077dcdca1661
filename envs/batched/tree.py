"""Functions of nested dicts of tensors."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor


def tree_map(function: Callable[..., Any], *trees: Any) -> Any:
    """Apply a function to tensors, or to those in dicts of the same structure."""
    if isinstance(trees[0], Tensor):  # first, because the check for a Mapping is slow
        return function(*trees)
    if isinstance(trees[0], Mapping):
        return {k: tree_map(function, *(tree[k] for tree in trees)) for k in trees[0]}
    return None if trees[0] is None else function(*trees)


def where(mask: Tensor, this: Any, other: Any) -> Any:
    """Columns of `this` where the mask `[N]` is True, else of `other`."""
    return tree_map(lambda x, y: torch.where(mask, x, y), this, other)


def clone(tree: Any) -> Any:
    """Copies of the tensors, detached from the autograd graph."""
    return tree_map(lambda x: x.detach().clone(), tree)


def last_axes(tree: Any) -> set[int]:
    """The sizes of the last axes, 0 for a number."""
    sizes: set[int] = set()
    tree_map(lambda x: sizes.add(x.shape[-1] if x.ndim else 0), tree)
    return sizes


def layout(tree: Any) -> Any:
    """The dtype and shape of each tensor, to compare and to print."""
    return tree_map(lambda x: f"{str(x.dtype)[6:]}{list(x.shape)}", tree)
