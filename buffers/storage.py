"""Preallocated tensors, written in place row by row, from NumPy or tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.buffers.memory import check_memory
from yieldrl.buffers.spec import Spec, entry_bytes, flatten, nest
from yieldrl.foundations import spaces

VALID = ("valid",)
"""False marks steps that only reset an environment; where it is missing, it is True."""


class Leaf(NamedTuple):
    """One entry of all rows, three times the same memory."""

    tensor: Tensor  # [rows, N, ...]
    flat: Tensor  # [rows * N, ...]
    array: np.ndarray | None  # on a CPU: NumPy writes a row ten times faster
    row: tuple[int, ...]  # the shape of one row, [N, ...]


class Storage:
    """Tensors of batch shape `[rows, N]`, one for every leaf of a transition.

    All rows have the same entries: those of `spec`, and the extras that the agent
    returned with the first row. Only `valid` may come and go.

    Args:
        rows: Length of the first axis (time).
        num_envs: Length of the second axis.
        spec: Shapes and dtypes of the leaves that every transition has.
        device: Where the tensors live.
        field: Name of the config's field that decides the size, for errors.
        value: Its value.
        beside: Bytes that a transition takes elsewhere, such as in a sum tree.

    Attributes:
        entries: Names of what a row holds. A new set whenever it changes.

    Raises:
        MemoryError: If they would take more than what the device has free. The
            message says how much, of what, and what would fit.
    """

    def __init__(
        self,
        rows: int,
        num_envs: int,
        spec: Spec,
        device: torch.device,
        *,
        field: str,
        value: int,
        beside: int = 0,
    ) -> None:
        self.rows, self.num_envs, self.device = rows, num_envs, device
        self._spec, self._size = spec, {"field": field, "value": value}
        self._required = frozenset(path[0] for path in spec)
        self._check_memory(entry_bytes(spec) + beside)
        self._keep({path: self._leaf(path, *layout) for path, layout in spec.items()})

    def __getitem__(self, key: str) -> Tensor:
        return self._leaves[key,].tensor

    def __contains__(self, key: str) -> bool:
        return (key,) in self._leaves

    def write(self, row: int, transition: Mapping[str, Any], *, first: bool) -> None:
        """Copy a transition into a row, each entry `[N, ...]`, nested or not.

        An exception leaves the row in pieces: only count it after this returns.

        Args:
            row: Where to.
            transition: The entries.
            first: Whether no earlier row is kept. Then the agent's extras may be
                others than before; else they must be those of the earlier rows.

        Raises:
            ValueError: If an entry is missing, is new, or has another shape.
        """
        if transition.keys() != self.entries:
            self._settle(row, transition, first)
        plain = self._plain
        for name, value in transition.items():
            leaf = plain.get(name)
            if (
                leaf is not None
                and type(value) is np.ndarray
                and value.shape == leaf[1]
            ):
                leaf[0][row] = value
            else:
                self._write(row, (name,), value)

    def tensordict(self, rows: int | None = None) -> TensorDict:
        """The first `rows` as a TensorDict `[rows, N]` that shares the memory."""
        rows = self.rows if rows is None else rows
        nested = nest((path, leaf.tensor[:rows]) for path, leaf in self._leaves.items())
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
        nested = nest(
            (path, leaf.flat.index_select(0, others.get(path[0], index)))
            for path, leaf in self._leaves.items()
        )
        return TensorDict(nested, [len(index)], device=self.device)

    def truncate(self, row: int) -> None:
        """Mark the episodes of a row as cut there, where they had not ended."""
        self["truncated"][row] |= ~self["terminated"][row]

    def grown(self, rows: int) -> Storage:
        """A larger one with the rows of this one.

        Raises:
            MemoryError: If the device has less memory free than that takes.
        """
        larger = Storage(rows, self.num_envs, self._spec, self.device, **self._size)
        larger.load_state_dict(self.state_dict())
        return larger

    def roll(self, rows: int, shift: int) -> None:
        """Move the first `rows` along by `shift`, the last ones to the front."""
        for _, leaf in self._leaves.items():
            leaf.tensor[:rows] = leaf.tensor[:rows].roll(shift, 0)

    def state_dict(self, rows: int | None = None) -> dict[str, Any]:
        """The tensors, nested as observations are, as far as they were written."""
        # A slice would drag its whole storage into the file: copy, unless it is whole.
        whole = rows in (None, self.rows)
        return nest(
            (path, leaf.tensor if whole else leaf.tensor[:rows].clone())
            for path, leaf in self._leaves.items()
        )

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Copy saved rows back in place; extras are those of the saved rows.

        Raises:
            ValueError: If a saved tensor has another shape or dtype, or one is missing.
        """
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

    def _write(self, row: int, path: spaces.Path, value: Any) -> None:
        leaf = self._leaves.get(path)
        if leaf is None:
            self._write_nested(row, path, value)
            return
        if leaf.array is not None and type(value) is np.ndarray:
            self._check_shape(path, leaf, value.shape)
            leaf.array[row] = value
        else:
            tensor = self._tensor(path, value)
            self._check_shape(path, leaf, tensor.shape)
            leaf.tensor[row].copy_(tensor.detach(), non_blocking=True)

    def _write_nested(self, row: int, path: spaces.Path, value: Any) -> None:
        if not isinstance(value, Mapping):
            raise self._misfit(path, f"one {type(value).__name__}")
        if set(value.keys()) != self._children.get(path):
            raise self._misfit(path, f"the entries {sorted(value.keys())}")
        for name, child in value.items():
            self._write(row, (*path, name), child)

    def _tensor(self, path: spaces.Path, value: Any) -> Tensor:
        try:
            return torch.as_tensor(value)
        except (RuntimeError, TypeError, ValueError) as reason:
            raise self._misfit(path, f"one {type(value).__name__}") from reason

    def _settle(self, row: int, transition: Mapping[str, Any], first: bool) -> None:
        """Make room for entries that the rows so far did not have, or refuse them."""
        got = set(transition.keys())
        own = {path[0] for path in self._leaves}
        lacking = (self._required if first else own) - got - set(VALID)
        late = set() if first else got - own - set(VALID)
        if lacking or late:
            change = f"lacks {sorted(lacking)}" if lacking else f"adds {sorted(late)}"
            raise ValueError(
                f"a transition {change}, unlike those before: the agent must return"
                " the same extras with every step, from the first one on (a buffer"
                " that was cleared, or a new one, takes others)"
            )
        leaves = {
            path: leaf
            for path, leaf in self._leaves.items()
            if path[0] in got or not first
        }
        for name in got - own:
            leaves.update(self._new_leaves((name,), transition[name]))
        self._keep(leaves)
        if VALID in leaves and VALID[0] not in got:
            leaves[VALID].tensor[row] = True

    def _new_leaves(self, path: spaces.Path, value: Any) -> dict[spaces.Path, Leaf]:
        """Room for an extra of the agent's, as it arrives for the first time."""
        if isinstance(value, Mapping):
            leaves = {}
            for name, child in value.items():
                leaves.update(self._new_leaves((*path, name), child))
            return leaves
        tensor = self._tensor(path, value)
        if tensor.shape[:1] != (self.num_envs,):
            raise ValueError(
                f"entry {'.'.join(path)!r} of a transition takes the shape"
                f" ({self.num_envs}, ...), got {tuple(tensor.shape)}: return one value"
                " for each environment"
            )
        double = tensor.dtype == torch.float64
        dtype = torch.float32 if double else tensor.dtype
        shape = tuple(tensor.shape[1:])
        self._check_memory(entry_bytes({path: (shape, dtype)}))
        return {path: self._leaf(path, shape, dtype)}

    def _leaf(
        self, path: spaces.Path, shape: tuple[int, ...], dtype: torch.dtype
    ) -> Leaf:
        size = self.rows, self.num_envs, *shape
        tensor = torch.zeros(size, dtype=dtype, device=self.device)
        if path == VALID:
            tensor.fill_(True)
        plain = self.device.type == "cpu" and dtype != torch.bfloat16  # NumPy has none
        array = tensor.numpy() if plain else None
        return Leaf(tensor, tensor.flatten(0, 1), array, size[1:])

    def _keep(self, leaves: dict[spaces.Path, Leaf]) -> None:
        """Take these as the entries, and what is looked up at every step."""
        self.entries = frozenset()  # until all of it agrees: Ctrl-C may come between
        self._leaves = leaves
        self._plain = {
            path[0]: (leaf.array, leaf.row)
            for path, leaf in leaves.items()
            if len(path) == 1 and leaf.array is not None
        }
        children: dict[spaces.Path, set[str]] = {}
        for path in leaves:
            for depth in range(1, len(path)):
                children.setdefault(path[:depth], set()).add(path[depth])
        self._children = children
        self.entries = frozenset(path[0] for path in leaves)

    def _check_memory(self, entry: int) -> None:
        count = self.rows * self.num_envs
        check_memory(count, entry, self.device, **self._size)

    def _fits(self, saved: Tensor | None, own: Tensor) -> bool:
        if saved is None or len(saved) > self.rows:
            return False
        return saved.shape[1:] == own.shape[1:] and saved.dtype == own.dtype

    def _check_shape(
        self, path: spaces.Path, leaf: Leaf, shape: tuple[int, ...]
    ) -> None:
        if shape != leaf.row:  # a shorter one might be broadcast
            raise self._misfit(path, f"{tuple(shape)}")

    def _misfit(self, path: spaces.Path, got: str) -> ValueError:
        leaf, own = self._leaves.get(path), "one value for each environment"
        if leaf is not None:
            own = f"the shape {leaf.row}"
        elif path in self._children:
            own = f"the entries {sorted(self._children[path])}"
        return ValueError(
            f"entry {'.'.join(path)!r} of a transition takes {own}, got {got}: what the"
            " agent or the environment returns is not what its spaces say"
        )


def _layout(tensor: Tensor | None) -> str:
    return "missing" if tensor is None else f"{tensor.dtype} {list(tensor.shape)}"
