"""Functions of every tensor in dicts, lists and tuples."""

from collections.abc import Callable
from typing import Any

from torch import Tensor


def map_tensors(function: Callable[[Tensor], Any], tree: Any) -> Any:
    """Nested dicts, lists and tuples with a function of each tensor in its place.

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
