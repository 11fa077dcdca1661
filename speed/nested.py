"""Nested mappings of tensors, taken apart and put together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

Leaves = dict[tuple[str, ...], Tensor]
"""The tensors of nested data, by their paths."""


def leaves_of(data: Mapping[str, Any], path: tuple[str, ...] = ()) -> Leaves:
    """The tensors of nested data, by their paths."""
    leaves: Leaves = {}
    for name, value in data.items():
        if isinstance(value, Tensor):
            leaves[(*path, name)] = value
        else:
            leaves |= leaves_of(value, (*path, name))
    return leaves


def nested(leaves: Leaves) -> dict[str, Any]:
    """What `leaves_of` took apart, as nested dicts."""
    whole: dict[str, Any] = {}
    for (*path, name), value in leaves.items():
        inner = whole
        for part in path:
            inner = inner.setdefault(part, {})
        inner[name] = value
    return whole
