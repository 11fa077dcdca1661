"""Preallocated tensors, written in place row by row, from NumPy or tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
import psutil
import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.envs import spaces

Spec = dict[spaces.Path, tuple[tuple[int, ...], torch.dtype]]
"""Leaf path -> shape of one entry, dtype."""


def transition_spec(
    observation_space: gym.Space[Any], action_space: gym.Space[Any]
) -> Spec:
    """The leaves of a transition: obs, next_obs, action, reward and both flags."""
    spec: Spec = {}
    for key in ("obs", "next_obs"):
        for path, leaf in spaces.leaves(observation_space):
            dtype = spaces.tensor_dtype(leaf)
            spec[(key, *path)] = (spaces.shape_of(leaf), dtype)
    dtype = spaces.tensor_dtype(action_space)
    spec["action",] = (spaces.shape_of(action_space), dtype)
    spec["reward",] = ((), torch.float32)
    spec["terminated",] = spec["truncated",] = ((), torch.bool)
    return spec


class Storage:
    """Tensors of batch shape `[rows, N]`, one for every leaf of `spec`.

    Args:
        rows: Length of the first axis (time).
        num_envs: Length of the second axis.
        spec: Shapes and dtypes of the leaves.
        device: Where the tensors live.

    Raises:
        MemoryError: If they would take more than what the device has free. The
            message says how much, of what, and what would fit.
    """

    def __init__(
        self, rows: int, num_envs: int, spec: Spec, device: torch.device
    ) -> None:
        self.rows, self.num_envs, self.device = rows, num_envs, device
        check_memory(rows, num_envs, spec, device)
        self._tensors: dict[spaces.Path, Tensor] = {}
        self._views: dict[spaces.Path, np.ndarray] = {}
        for path, (shape, dtype) in spec.items():
            self._add(path, shape, dtype)

    def __getitem__(self, key: str) -> Tensor:
        return self._tensors[key,]

    def __contains__(self, key: str) -> bool:
        return (key,) in self._tensors

    def write(self, row: int, path: spaces.Path, value: Any) -> None:
        """Copy one entry `[N, ...]`, nested or not, into a row.

        A name that was not in the spec (an extra of the agent's) is allocated at its
        first arrival.
        """
        view = self._views.get(path)
        if view is not None and type(value) is np.ndarray:
            view[row] = value
        elif isinstance(value, Mapping):
            for name, child in value.items():
                self.write(row, (*path, name), child)
        else:
            tensor = torch.as_tensor(value)
            if path not in self._tensors:
                self._add(path, tuple(tensor.shape[1:]), tensor.dtype)
            self._tensors[path][row].copy_(tensor, non_blocking=True)

    def tensordict(self, rows: int | None = None) -> TensorDict:
        """The first `rows` as a TensorDict `[rows, N]` that shares the memory."""
        nested: dict[str, Any] = {}
        for path, tensor in self._tensors.items():
            folder = nested
            for name in path[:-1]:
                folder = folder.setdefault(name, {})
            folder[path[-1]] = tensor[:rows]
        rows = self.rows if rows is None else rows
        return TensorDict(nested, [rows, self.num_envs], device=self.device)

    def gather(self, index: Tensor, rows: int | None = None) -> TensorDict:
        """Copies of the entries at flat positions `t * N + n`: a batch `[B]`."""
        nested: dict[str, Any] = {}
        for path, tensor in self._tensors.items():
            folder = nested
            for name in path[:-1]:
                folder = folder.setdefault(name, {})
            folder[path[-1]] = tensor.flatten(0, 1).index_select(0, index)
        return TensorDict(nested, [len(index)], device=self.device)

    def state_dict(self, rows: int | None = None) -> dict[str, Tensor]:
        """The tensors by dotted path, as far as they were written."""
        # A slice would drag its whole storage into the file: copy, unless it is whole.
        return {
            ".".join(path): t if rows in (None, self.rows) else t[:rows].clone()
            for path, t in self._tensors.items()
        }

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Copy saved rows back in place.

        Raises:
            ValueError: If a saved tensor has another shape.
        """
        for name, saved in state.items():
            path = tuple(name.split("."))
            if path not in self._tensors:
                self._add(path, tuple(saved.shape[2:]), saved.dtype)
            own = self._tensors[path]
            if own.shape[1:] != saved.shape[1:] or len(saved) > len(own):
                raise ValueError(
                    f"buffer entry {name!r} is {tuple(own.shape)}, the checkpoint's"
                    f" {tuple(saved.shape)}: the config or the environment differs"
                )
            own[: len(saved)].copy_(saved)

    def _add(
        self, path: spaces.Path, shape: tuple[int, ...], dtype: torch.dtype
    ) -> None:
        tensor = torch.zeros(
            self.rows, self.num_envs, *shape, dtype=dtype, device=self.device
        )
        self._tensors[path] = tensor
        if self.device.type == "cpu":
            self._views[path] = tensor.numpy()  # NumPy writes a row ten times faster


def entry_bytes(spec: Spec) -> int:
    """Bytes that one transition of one environment takes."""
    return sum(math.prod(shape) * dtype.itemsize for shape, dtype in spec.values())


def check_memory(rows: int, num_envs: int, spec: Spec, device: torch.device) -> None:
    """Refuse to allocate more than the device has free, before trying to."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
    else:
        free = psutil.virtual_memory().available
    one = entry_bytes(spec)
    needed = rows * num_envs * one
    if needed > free:
        raise MemoryError(
            f"a buffer of {rows} x {num_envs} transitions of {one:,} bytes needs"
            f" {needed / 2**30:.1f} GiB, {device} has {free / 2**30:.1f} GiB free:"
            f" at most {int(0.8 * free / one):,} transitions would fit comfortably"
        )
