"""Nested dicts, lists and tuples of tensors."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from torch import Tensor

PLAIN = bool | int | float | str | None
"""Numbers, text and None, which are compared by their value."""

Path = tuple[str, ...]  # keys to a leaf in nested dicts; `()` is the root


def map_tensors(function: Callable[[Tensor], Any], tree: Any) -> Any:
    """Apply a function to each tensor in nested dicts, lists and tuples.

    >>> import torch
    >>> map_tensors(lambda x: x.sum(), {"a": (torch.ones(3), 1), "b": [None]})
    {'a': (tensor(3.), 1), 'b': [None]}
    """
    if isinstance(tree, Tensor):
        return function(tree)
    if isinstance(tree, dict):
        return {name: map_tensors(function, part) for name, part in tree.items()}
    if isinstance(tree, list | tuple):
        parts = [map_tensors(function, part) for part in tree]
        return parts if isinstance(tree, list) else tuple(parts)
    return tree


def nest(leaves: Iterable[tuple[Path, Any]]) -> Any:
    """A dict of dicts from leaves with paths such as `("obs", "camera")`; the leaf
    itself for path `()`."""
    tree: dict[str, Any] = {}
    for path, tensor in leaves:
        if not path:
            return tensor
        folder = tree
        for name in path[:-1]:
            folder = folder.setdefault(name, {})
        folder[path[-1]] = tensor
    return tree


def flatten(tree: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, Tensor]]:
    """The leaves of a dict of dicts, with their paths: the inverse of `nest`."""
    for name, child in tree.items():
        if isinstance(child, Mapping):
            yield from flatten(child, (*path, name))
        else:
            yield (*path, name), child
