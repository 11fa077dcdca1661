"""Preallocated tensors, written in place row by row, from NumPy or tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from tensordict import TensorDict
from torch import Tensor

from yieldrl.buffers.entries import Entries, Leaf
from yieldrl.core import spaces
from yieldrl.core.conversion import check_shapes
from yieldrl.core.trees import flatten, nest


class Storage(Entries):
    """Rows of batch shape `[N]`, written one by one and read together."""

    def write(self, row: int, transition: Mapping[str, Any], *, first: bool) -> None:
        """Copy a transition into a row, each entry `[N, ...]`, nested or not.

        With `first`, no earlier rows are kept, so the agent's extras may change.
        ValueError if an entry is missing, is new, or has another shape: an exception
        leaves the row incomplete, so only count it after this returns.
        """
        if self._omitted:
            kept = transition.keys() - self._omitted
            transition = {name: transition[name] for name in kept}
        if transition.keys() != self.entries:
            self._settle(row, transition, first)
        for name, value in transition.items():
            leaf = self._leaves.get((name,))
            if leaf is None or leaf.array is None or type(value) is not np.ndarray:
                self._write(row, (name,), value)
            elif value.shape == leaf.row:  # a shorter one might be broadcast
                leaf.array[row] = value
            else:
                raise self._misfit((name,), f"{tuple(value.shape)}")

    def tensordict(self, end: int | None = None, begin: int = 0) -> TensorDict:
        """Rows up to `end` as a TensorDict `[rows, N]` that shares the memory."""
        end = self.rows if end is None else end
        nested = self.nested(lambda leaf: leaf.tensor[begin:end])
        return self._batch(nested, [end - begin, self.num_envs])

    def gather(
        self, index: Tensor, elsewhere: Mapping[str, Tensor] | None = None
    ) -> TensorDict:
        """Copies at flat positions `t * N + n`, `[B]`; of some entries `elsewhere`."""
        others = elsewhere or {}
        nested = nest(
            (path, leaf.flat.index_select(0, others.get(path[0], index)))
            for path, leaf in self._leaves.items()
        )
        return self._batch(nested, [len(index)])

    def _batch(self, nested: Any, size: list[int]) -> TensorDict:
        """Make a TensorDict without a global flag that Ctrl-C could leave set."""
        return TensorDict(nested, size, device=self.device, non_blocking=False)

    def truncate(self, row: int) -> None:
        """Mark the episodes that have not ended in a row as truncated."""
        self["truncated"][row] |= ~self["terminated"][row]

    def grown(self, rows: int) -> Storage:
        """A larger storage with the same rows; MemoryError if it does not fit."""
        larger = Storage(rows, self.num_envs, self._spec, self.device, **self._size)
        larger.load_state_dict(self.state_dict())
        return larger

    def roll(self, rows: int, shift: int) -> None:
        """Rotate the first `rows` rows by `shift`."""
        for leaf in self._leaves.values():
            leaf.tensor[:rows] = leaf.tensor[:rows].roll(shift, 0)

    def state_dict(self, rows: int | None = None) -> dict[str, Any]:
        """The tensors, nested: the first `rows` rows, or all."""
        if rows in (None, self.rows):
            return self.nested(lambda leaf: leaf.tensor)
        # Copy: saving a slice would save the memory of the whole tensor.
        return self.nested(lambda leaf: leaf.tensor[:rows].clone())

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Copy saved rows in place; ValueError if they do not fit."""
        saved = dict(flatten(state))
        leaves = {path: self._leaves[path] for path in self._spec}
        for path, own in leaves.items():
            if not self._fits(saved.get(path), own.tensor):
                raise ValueError(
                    f"buffer entry {'.'.join(path)!r} is {_layout(own.tensor)}, the"
                    f" checkpoint's {_layout(saved.get(path))}: the config or the"
                    " environment differs"
                )
        for path, tensor in saved.items():
            if path not in leaves:
                leaves[path] = self._leaf(path, tuple(tensor.shape[2:]), tensor.dtype)
            leaves[path].tensor[: len(tensor)].copy_(tensor)
        self._keep(leaves)

    def nested(self, read: Callable[[Leaf], Any]) -> dict[str, Any]:
        """The results of `read` for each entry, nested like observations."""
        return nest((path, read(leaf)) for path, leaf in self._leaves.items())

    def _write(self, row: int, path: spaces.Path, value: Any) -> None:
        leaf = self._leaves.get(path)
        if leaf is None:
            if not isinstance(value, Mapping):
                raise self._misfit(path, f"one {type(value).__name__}")
            if set(value.keys()) != self._children.get(path):
                raise self._misfit(path, f"the entries {sorted(value.keys())}")
            for name, child in value.items():
                self._write(row, (*path, name), child)
            return
        array = leaf.array if type(value) is np.ndarray else None
        value = self._tensor(path, value) if array is None else value
        if value.shape != leaf.row:  # a shorter one might be broadcast
            raise self._misfit(path, f"{tuple(value.shape)}")
        if array is None:
            leaf.tensor[row].copy_(value.detach(), non_blocking=True)
        else:
            array[row] = value

    def _fits(self, saved: Tensor | None, own: Tensor) -> bool:
        """Whether saved rows can be copied into an entry."""
        if saved is None or len(saved) > self.rows:
            return False
        return saved.shape[1:] == own.shape[1:] and saved.dtype == own.dtype


def add_rollout(buffer: Any, data: Mapping[str, Any]) -> bool:
    """Add a rollout `[T, N]` row by row; for a single step return False."""
    if not isinstance(data, TensorDict) or data.batch_dims < 2:
        return False
    check_shapes(data)
    for row in data.unbind(0):
        buffer.add(row.to_dict())
    return True


def _layout(tensor: Tensor | None) -> str:
    return "missing" if tensor is None else f"{tensor.dtype} {list(tensor.shape)}"
