"""What an algorithm is made of, as flat dicts of values that can be compared."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from yieldrl.foundations import rng_state

Values = dict[str, Any]
"""Dotted name -> tensor, array or plain value: `model.actor.layers.0.weight`."""


def leaves(part: Any, name: str = "") -> Values:
    """Nested mappings, lists and tuples as one flat dict.

    >>> leaves({"lr": 0.1, "betas": [0.9, 0.99]})
    {'lr': 0.1, 'betas.0': 0.9, 'betas.1': 0.99}
    """
    if isinstance(part, Mapping):
        items = part.items()
    elif isinstance(part, list | tuple):
        items = enumerate(part)
    else:
        return {name: part}
    found: Values = {}
    for key, value in items:
        found |= leaves(value, f"{name}.{key}" if name else str(key))
    return found


def values_of(algorithm: Any) -> Values:
    """All that an algorithm saves, and buffers of its model that it does not save."""
    buffers = {f"model.{name}": b for name, b in algorithm.model.named_buffers()}
    return buffers | leaves(algorithm.state_dict())


def copied(values: Values) -> Values:
    """The values in memory of their own."""
    return {
        name: value.detach().clone() if isinstance(value, Tensor) else value
        for name, value in values.items()
    }


def changed(before: Values, after: Values) -> list[str]:
    """Names of what differs, what came and what went."""
    differing = [k for k in after if k in before and not same(before[k], after[k])]
    return differing + sorted(before.keys() ^ after.keys())


def same(one: Any, two: Any) -> bool:
    """Whether two values are equal, bit by bit; NaN equals NaN.

    >>> same(torch.tensor([1, torch.nan]), torch.tensor([1, torch.nan]))
    True
    """
    if isinstance(one, Tensor) and isinstance(two, Tensor):
        if one.shape != two.shape or one.dtype != two.dtype:
            return False
        two = two.to(one.device)
        nan = (one != one) & (two != two)
        return one.equal(two) or bool(((one == two) | nan).all())
    if isinstance(one, np.ndarray) or isinstance(two, np.ndarray):
        return bool(np.array_equal(one, two))
    return bool(one == two) or bool(one != one and two != two)


def generators(**owners: Any) -> Values:
    """The states of all generators: the global ones, and attributes of the owners."""
    found = leaves(rng_state(), "global")
    for owner, part in owners.items():
        for name, value in vars(part).items():
            if isinstance(value, torch.Generator):
                found[f"{owner}.{name}"] = value.get_state()
            elif isinstance(value, np.random.Generator):
                state: Any = value.bit_generator.state
                found |= leaves(state, f"{owner}.{name}")
            elif isinstance(value, random.Random):
                found[f"{owner}.{name}"] = value.getstate()
    return found
