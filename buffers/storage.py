"""One preallocated tensor for each entry of a transition, written in place by rows."""

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.buffers.spec import Spec, check_memory, entry_bytes
from yieldrl.core.conversion import as_array, check_shapes
from yieldrl.core.trees import Path, flatten, nest

VALID = ("valid",)
"""False marks steps that only reset an environment; if missing, it is True."""


WIDE = frozenset({"float64", "int32", "uint32", "int64", "uint64"})
"""Dtypes, NumPy's or PyTorch's, with numbers that float32 does not hold."""


class Leaf(NamedTuple):
    """One entry of all rows: three views of one memory, also after copying."""

    tensor: Tensor  # [rows, N, ...]
    flat: Tensor  # [rows * N, ...]
    array: np.ndarray | None  # only on a CPU: NumPy writes ten times faster
    row: tuple[int, ...]  # the shape of one row, [N, ...]

    @classmethod
    def of(cls, tensor: Tensor) -> Self:
        """Make the views of a tensor."""
        plain = tensor.is_cpu and tensor.dtype != torch.bfloat16  # NumPy lacks bfloat16
        array = tensor.numpy() if plain else None
        return cls(tensor, tensor.flatten(0, 1), array, tuple(tensor.shape[1:]))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the tensor: the array would be copied into separate memory."""
        return Leaf.of, (self.tensor,)


class Storage:
    """Rows of transitions `[rows, N]`, written one by one and read together.

    All rows have the entries of `spec`, and the extras that the agent returned with the
    first row; only `valid` may be missing in some.

    Args:
        rows: Number of rows.
        num_envs: `N`, environments.
        spec: The entries of every transition.
        device: Where the tensors live. MemoryError, which names the config's `field`
            and its `value`, if less is free than the rows take, with `beside` further
            bytes per transition.
        field: See `device`, as are `value` and `beside`.
    """

    entries: frozenset[str]  # names of the entries; a new object when they change

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
        self._spec, self._size = spec, (field, value)
        self._required = frozenset(path[0] for path in spec)
        self._warned = False  # of numbers that become one in float32
        self._check_memory(entry_bytes(spec) + beside)
        self._keep({path: self._leaf(path, *layout) for path, layout in spec.items()})

    def __getitem__(self, key: str) -> Tensor:
        return self._leaves[key,].tensor

    def __contains__(self, key: str) -> bool:
        return (key,) in self._leaves

    def write(self, row: int, transition: Mapping[str, Any], *, first: bool) -> None:
        """Copy a transition into a row, each entry `[N, ...]`, nested or not.

        With `first`, no earlier rows are kept, so the agent's extras may change.
        ValueError if an entry is missing, is new, or has another shape: an exception
        leaves the row incomplete, so only count it after this returns.
        """
        if "next_obs" not in self._required:
            transition = {k: v for k, v in transition.items() if k != "next_obs"}
        if transition.keys() != self.entries:
            self._settle(row, transition, first)
        for name, value in transition.items():
            leaf = self._leaves.get((name,))
            array = None if leaf is None else leaf.array
            if type(value) is not np.ndarray or array is None:
                self._write(row, (name,), value)
            elif value.shape == array.shape[1:]:  # a shorter one might be broadcast
                array[row] = value
            else:
                raise self._misfit((name,), f"{tuple(value.shape)}")
        if first and not self._warned:
            self._warn_of_rounding(transition)

    def write_at(self, row: Tensor, transition: Mapping[str, Any]) -> None:
        """Copy a transition like those before it into the row `[1]`, int64, which a GPU
        reads: the host need not know it."""
        kept = {k: x for k, x in transition.items() if k in self.entries}
        for path, value in flatten(kept):
            tensor = self._leaves[path].tensor
            new = value.detach().to(tensor.dtype).unsqueeze(0)
            tensor.index_copy_(0, row, new)

    def tensordict(self, end: int | None = None, begin: int = 0) -> TensorDict:
        """Rows up to `end` as a TensorDict `[rows, N]` that shares the memory."""
        end = self.rows if end is None else end
        return self._batch(self._read(begin, end), [end - begin, self.num_envs])

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

    def truncate(self, row: int) -> None:
        """Mark the episodes that have not ended in the latest row as truncated."""
        self["truncated"][row] |= ~self["terminated"][row]

    def grown(self, rows: int) -> "Storage":
        """A larger storage with the same rows; MemoryError if it does not fit."""
        field, value = self._size
        parts = rows, self.num_envs, self._spec, self.device
        larger = Storage(*parts, field=field, value=value)
        larger.load_state_dict(self.state_dict())
        return larger

    def roll(self, rows: int, shift: int) -> None:
        """Rotate the first `rows` rows by `shift`."""
        for leaf in self._leaves.values():
            leaf.tensor[:rows] = leaf.tensor[:rows].roll(shift, 0)

    def state_dict(self, rows: int | None = None) -> dict[str, Any]:
        """The tensors, nested: the first `rows` rows, or all."""
        if rows in (None, self.rows):
            return self._read(0, self.rows)
        # Copy: saving a slice would save the memory of the whole tensor.
        leaves = flatten(self._read(0, rows))
        return nest((path, tensor.clone()) for path, tensor in leaves)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Copy saved rows in place; ValueError if they do not fit."""
        saved = dict(flatten(state))
        leaves = {path: self._leaves[path] for path in self._spec}
        for path, leaf in leaves.items():
            if not self._fits(saved.get(path), leaf.tensor):
                raise ValueError(
                    f"buffer entry {'.'.join(path)!r} is {_layout(leaf.tensor)}, the"
                    f" checkpoint's {_layout(saved.get(path))}: the config or the"
                    " environment differs"
                )
        for path in saved.keys() - leaves.keys():
            tensor = saved[path]
            leaves[path] = self._leaf(path, tuple(tensor.shape[2:]), tensor.dtype)
        self._keep({path: leaves[path] for path in saved})
        for path, tensor in saved.items():
            leaves[path].tensor[: len(tensor)].copy_(tensor)

    def _read(self, begin: int, end: int | None) -> dict[str, Any]:
        """Rows of all entries, nested like observations."""
        rows = {path: leaf.tensor[begin:end] for path, leaf in self._leaves.items()}
        return nest(rows.items())

    def _batch(self, nested: Any, size: list[int]) -> TensorDict:
        """Make a TensorDict without a global flag that Ctrl-C could leave set."""
        return TensorDict(nested, size, device=self.device, non_blocking=False)

    def _settle(self, row: int, transition: Mapping[str, Any], first: bool) -> None:
        """Allocate entries that are new with this row; ValueError if not allowed."""
        got = set(transition.keys())
        names = {path[0] for path in self._leaves}
        lacking = (self._required if first else names) - got - set(VALID)
        late = set() if first else got - names - set(VALID)
        if lacking or late:
            change = f"lacks {sorted(lacking)}" if lacking else f"adds {sorted(late)}"
            raise ValueError(
                f"a transition {change}, unlike those before: the agent must return"
                " the same extras with every step, from the first one on (a buffer"
                " that was cleared, or a new one, takes others)"
            )
        leaves = {p: f for p, f in self._leaves.items() if p[0] in got or not first}
        extras = {name: x for name, x in transition.items() if name not in names}
        for path, value in flatten(extras):
            tensor = self._tensor(path, value)
            if tensor.shape[:1] != (self.num_envs,):
                raise self._misfit(path, f"{tuple(tensor.shape)}")
            double = tensor.dtype == torch.float64
            layout = tuple(tensor.shape[1:]), torch.float32 if double else tensor.dtype
            self._check_memory(entry_bytes({path: layout}))
            leaves[path] = self._leaf(path, *layout)
        self._keep(leaves)
        if VALID in leaves and VALID[0] not in got:
            leaves[VALID].tensor[row] = True

    def _warn_of_rounding(self, transition: Mapping[str, Any]) -> None:
        """Warn of large numbers that differ, but not as float32."""
        if "next_obs" not in transition:
            return
        ahead = dict(flatten({"obs": transition["next_obs"]}))
        for path, value in flatten({"obs": transition["obs"]}):
            leaf = self._leaves.get(path)
            dtype = str(getattr(value, "dtype", "")).removeprefix("torch.")
            if dtype not in WIDE or leaf is None or leaf.tensor.dtype != torch.float32:
                continue
            x, y = as_array(value), as_array(ahead[path])
            alike = (x != y) & (x.astype(np.float32) == y.astype(np.float32))
            if (alike & (np.abs(x) >= 2**24)).any():
                self._warned = True
                place, *pair = ".".join(path), x[alike][0].item(), y[alike][0].item()
                warnings.warn(
                    f"{place}: {pair[0]} and {pair[1]}, one step later, are the same"
                    " number in float32, from which is learned. Subtract in the"
                    " environment what is large and constant; or normalize with"
                    " yieldrl.envs.wrappers.NormalizeObservation, or PPO's"
                    " normalize_observation=True, which compute in float64",
                    stacklevel=2,
                )

    def _leaf(self, path: Path, shape: tuple[int, ...], dtype: torch.dtype) -> Leaf:
        size = self.rows, self.num_envs, *shape
        tensor = torch.zeros(size, dtype=dtype, device=self.device)
        return Leaf.of(tensor.fill_(True) if path == VALID else tensor)

    def _keep(self, leaves: dict[Path, Leaf]) -> None:
        """Set the entries, and the lookup tables that every step uses."""
        self.entries = frozenset()  # empty until all tables agree: Ctrl-C may interrupt
        self._leaves = leaves
        self._children: dict[Path, set[str]] = {}
        for path in leaves:
            for depth, name in enumerate(path[1:], 1):
                self._children.setdefault(path[:depth], set()).add(name)
        self.entries = frozenset(path[0] for path in leaves)

    def _write(self, row: int, path: Path, value: Any) -> None:
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
        if array is not None:
            array[row] = value
        else:
            leaf.tensor[row].copy_(value.detach(), non_blocking=True)

    def _tensor(self, path: Path, value: Any) -> Tensor:
        try:
            return torch.as_tensor(value)
        except (RuntimeError, TypeError, ValueError) as reason:
            raise self._misfit(path, f"one {type(value).__name__}") from reason

    def _misfit(self, path: Path, got: str) -> ValueError:
        leaf, wanted = self._leaves.get(path), f"the shape ({self.num_envs}, ...)"
        if leaf is not None:
            wanted = f"the shape {leaf.row}"
        elif path in self._children:
            wanted = f"the entries {sorted(self._children[path])}"
        return ValueError(
            f"entry {'.'.join(path)!r} of a transition takes {wanted}, got {got}: what"
            " the agent or the environment returns does not fit its spaces"
        )

    def _fits(self, saved: Tensor | None, entry: Tensor) -> bool:
        """Whether saved rows can be copied into an entry."""
        if saved is None or len(saved) > self.rows:
            return False
        return saved.shape[1:] == entry.shape[1:] and saved.dtype == entry.dtype

    def _check_memory(self, entry: int) -> None:
        (field, value), count = self._size, self.rows * self.num_envs
        check_memory(count, entry, self.device, field=field, value=value)


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
