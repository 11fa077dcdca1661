"""Preallocated tensors, written in place row by row, from NumPy or tensors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import gymnasium as gym
import numpy as np
import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.buffers.memory import Spec, check_memory
from yieldrl.foundations import spaces


def transition_spec(
    observation_space: gym.Space[Any], action_space: gym.Space[Any]
) -> Spec:
    """The leaves of a transition: obs, next_obs, action, reward and both flags."""
    spec: Spec = {}
    for key in ("obs", "next_obs"):
        for path, leaf in spaces.leaves(observation_space):
            dtype = spaces.tensor_dtype(leaf)
            spec[(key, *path)] = (spaces.shape_of(leaf), dtype)
    # A Gaussian chooses real numbers, even where the environment wants bytes.
    real = isinstance(action_space, gym.spaces.Box)
    dtype = torch.float32 if real else spaces.tensor_dtype(action_space)
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
        self._flat: dict[spaces.Path, Tensor] = {}  # the same memory as [rows * N, ...]
        self._views: dict[spaces.Path, np.ndarray] = {}
        self._always = frozenset(spec)  # what is no extra
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

        Raises:
            ValueError: If the value does not have the entry's shape.
        """
        view = self._views.get(path)
        try:
            if view is not None and type(value) is np.ndarray:
                view[row] = value
            elif isinstance(value, Mapping):
                for name, child in value.items():
                    self.write(row, (*path, name), child)
            else:
                self._write_tensor(row, path, torch.as_tensor(value))
        except (RuntimeError, ValueError) as reason:
            got, own = tuple(np.shape(cast("Any", value))), self._tensors.get(path)
            if own is None or own.shape[1:] == got:
                raise
            raise ValueError(
                f"entry {'.'.join(path)!r} of a transition takes the shape"
                f" {tuple(own.shape[1:])}, got {got}: what the agent or the environment"
                " returns is not what its spaces say"
            ) from reason

    def tensordict(self, rows: int | None = None) -> TensorDict:
        """The first `rows` as a TensorDict `[rows, N]` that shares the memory."""
        rows = self.rows if rows is None else rows
        nested = _nested((path, t[:rows]) for path, t in self._tensors.items())
        return TensorDict(nested, [rows, self.num_envs], device=self.device)

    def gather(
        self, index: Tensor, elsewhere: Mapping[str, Tensor] | None = None
    ) -> TensorDict:
        """Copies of the entries at flat positions `t * N + n`: a batch `[B]`.

        Args:
            index: The positions.
            elsewhere: Names of entries that are read at other positions, and those.
        """
        others = elsewhere or {}
        nested = _nested(
            (path, t.index_select(0, others.get(path[0], index)))
            for path, t in self._flat.items()
        )
        return TensorDict(nested, [len(index)], device=self.device)

    def truncate(self, row: int) -> None:
        """Mark the episodes of a row as cut there, where they had not ended."""
        self["truncated"][row] |= ~self["terminated"][row]

    def grow(self, rows: int) -> None:
        """Make room for so many rows; what was written stays.

        Raises:
            MemoryError: If the device has less memory free than that takes.
        """
        old, written = self._tensors, self.rows
        shapes = {path: (tuple(t.shape[2:]), t.dtype) for path, t in old.items()}
        check_memory(rows, self.num_envs, shapes, self.device)
        self.rows, self._tensors = rows, {}
        for path, (shape, dtype) in shapes.items():
            self._add(path, shape, dtype)
            self._tensors[path][:written] = old[path]

    def roll(self, rows: int, shift: int) -> None:
        """Move the first `rows` along by `shift`, the last ones to the front."""
        for tensor in self._tensors.values():
            tensor[:rows] = tensor[:rows].roll(shift, 0)

    def state_dict(self, rows: int | None = None) -> dict[str, Any]:
        """The tensors, nested as observations are, as far as they were written."""
        # A slice would drag its whole storage into the file: copy, unless it is whole.
        return _nested(
            (path, t if rows in (None, self.rows) else t[:rows].clone())
            for path, t in self._tensors.items()
        )

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Copy saved rows back in place.

        Raises:
            ValueError: If a saved tensor has another shape or dtype, or one is missing.
        """
        saved = dict(_leaves(state))
        for path, own in self._tensors.items():
            other = saved.get(path)
            if other is None and path not in self._always:
                continue  # an extra that had not come yet
            if other is None or not _fits(other, own):
                raise ValueError(
                    f"buffer entry {'.'.join(path)!r} is {_layout(own)}, the"
                    f" checkpoint's {_layout(other)}: the config or the environment"
                    " differs"
                )
        for path, tensor in saved.items():
            if path not in self._tensors:
                self._add(path, tuple(tensor.shape[2:]), tensor.dtype)
            self._tensors[path][: len(tensor)].copy_(tensor)

    def _write_tensor(self, row: int, path: spaces.Path, tensor: Tensor) -> None:
        if path not in self._tensors:
            double = tensor.dtype == torch.float64
            dtype = torch.float32 if double else tensor.dtype
            self._add(path, tuple(tensor.shape[1:]), dtype)
        self._tensors[path][row].copy_(tensor.detach(), non_blocking=True)

    def _add(
        self, path: spaces.Path, shape: tuple[int, ...], dtype: torch.dtype
    ) -> None:
        tensor = torch.zeros(
            self.rows, self.num_envs, *shape, dtype=dtype, device=self.device
        )
        self._tensors[path] = tensor
        self._flat[path] = tensor.flatten(0, 1)
        if self.device.type == "cpu" and dtype != torch.bfloat16:  # NumPy has none
            self._views[path] = tensor.numpy()  # NumPy writes a row ten times faster


def _nested(leaves: Iterable[tuple[spaces.Path, Tensor]]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path, tensor in leaves:
        folder = tree
        for name in path[:-1]:
            folder = folder.setdefault(name, {})
        folder[path[-1]] = tensor
    return tree


def _leaves(
    tree: Mapping[str, Any], path: spaces.Path = ()
) -> Iterator[tuple[spaces.Path, Tensor]]:
    for name, child in tree.items():
        if isinstance(child, Mapping):
            yield from _leaves(child, (*path, name))
        else:
            yield (*path, name), child


def _fits(saved: Tensor, own: Tensor) -> bool:
    same = saved.shape[1:] == own.shape[1:] and saved.dtype == own.dtype
    return same and len(saved) <= len(own)


def _layout(tensor: Tensor | None) -> str:
    return "missing" if tensor is None else f"{tensor.dtype} {list(tensor.shape)}"
