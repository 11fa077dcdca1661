"""What a transition holds: its leaves, their shapes and dtypes, and how they nest."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import gymnasium as gym
import torch
from torch import Tensor

from yieldrl.foundations import spaces

Spec = dict[spaces.Path, tuple[tuple[int, ...], torch.dtype]]
"""Leaf path -> shape of one entry, dtype."""


def transition_spec(
    observation_space: gym.Space[Any], action_space: gym.Space[Any]
) -> Spec:
    """The leaves of a transition: obs, next_obs, action, reward and both flags."""
    spec: Spec = {}
    for key in ("obs", "next_obs"):
        for path, leaf in spaces.leaves(observation_space):
            spec[(key, *path)] = (spaces.shape_of(leaf), spaces.tensor_dtype(leaf))
    # A Gaussian chooses real numbers, even where the environment wants bytes.
    real = isinstance(action_space, gym.spaces.Box)
    dtype = torch.float32 if real else spaces.tensor_dtype(action_space)
    spec["action",] = (spaces.shape_of(action_space), dtype)
    spec["reward",] = ((), torch.float32)
    spec["terminated",] = spec["truncated",] = ((), torch.bool)
    return spec


def entry_bytes(spec: Spec) -> int:
    """Bytes that one transition of one environment takes."""
    return sum(math.prod(shape) * dtype.itemsize for shape, dtype in spec.values())


def nest(leaves: Iterable[tuple[spaces.Path, Any]]) -> dict[str, Any]:
    """Leaves with their paths, as a dict of dicts.

    >>> nest([(("obs", "a"), 1), (("obs", "b"), 2), (("reward",), 3)])
    {'obs': {'a': 1, 'b': 2}, 'reward': 3}
    """
    tree: dict[str, Any] = {}
    for path, tensor in leaves:
        folder = tree
        for name in path[:-1]:
            folder = folder.setdefault(name, {})
        folder[path[-1]] = tensor
    return tree


def flatten(
    tree: Mapping[str, Any], path: spaces.Path = ()
) -> Iterator[tuple[spaces.Path, Tensor]]:
    """The leaves of a dict of dicts, with their paths: the inverse of `nest`."""
    for name, child in tree.items():
        if isinstance(child, Mapping):
            yield from flatten(child, (*path, name))
        else:
            yield (*path, name), child
