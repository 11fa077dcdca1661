"""Comparisons of values before and after, with names."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from yieldrl.core import rng_state

Values = dict[str, Any]
"""Dotted name -> tensor, array or plain value: `model.actor.layers.0.weight`."""


def leaves(part: Any, name: str = "") -> Values:
    """Nested mappings, lists and tuples as one flat dict.

    >>> leaves({"lr": 0.1, "betas": [0.9, 0.99]})
    {'lr': 0.1, 'betas.0': 0.9, 'betas.1': 0.99}
    """
    if isinstance(part, list | tuple):
        part = dict(enumerate(part))
    if not isinstance(part, Mapping):
        return {name: part}
    flat: Values = {}
    for key, value in part.items():
        flat |= leaves(value, f"{name}.{key}" if name else str(key))
    return flat


def values_of(algorithm: Any) -> Values:
    """All saved values of an algorithm, and buffers of its model that are not saved."""
    buffers = {f"model.{name}": b for name, b in algorithm.model.named_buffers()}
    return buffers | leaves(algorithm.state_dict())


def changed(before: Values, after: Values) -> list[str]:
    """Names of values that differ, were added or were removed."""
    differing = [k for k in after if k in before and not same(before[k], after[k])]
    return differing + sorted(before.keys() ^ after.keys())


def same(one: Any, two: Any) -> bool:
    """Whether two values are equal, bit by bit; NaN equals NaN."""
    if isinstance(one, torch.Tensor) and isinstance(two, torch.Tensor):
        alike = one.shape == two.shape and one.dtype == two.dtype
        return alike and torch.allclose(one, two.to(one.device), 0, 0, equal_nan=True)
    return np.array_equal(one, two, equal_nan=isinstance(one, float))


def generators(*owners: Any) -> Values:
    """The states of all generators: the global ones, and attributes of the owners."""
    states = leaves(rng_state(), "global")
    for owner in owners:
        for name, value in vars(owner).items():
            name = f"{type(owner).__name__}.{name}"
            if isinstance(value, torch.Generator):
                states[name] = value.get_state()
            elif isinstance(value, np.random.Generator):
                states |= leaves(value.bit_generator.state, name)
    return states
