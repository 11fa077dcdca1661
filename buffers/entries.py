"""The entries of a storage: one preallocated tensor per entry."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from yieldrl.buffers.spec import Spec, check_memory, entry_bytes
from yieldrl.core import spaces
from yieldrl.core.trees import flatten

VALID = ("valid",)
"""False marks steps that only reset an environment; if missing, it is True."""


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


class Entries:
    """Tensors of batch shape `[rows, N]`, one for every leaf of a transition.

    All rows have the entries of `spec`, and the extras that the agent returned with the
    first row; only `valid` may be missing in some. MemoryError, naming the config's
    `field` and `value`, if the device has less free memory than the rows take, with
    `beside` further bytes per transition.
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
        self._spec, self._size = spec, {"field": field, "value": value}
        self._required = frozenset(path[0] for path in spec)
        self._omitted = {"next_obs"} - self._required  # dropped if a transition has it
        self._check_memory(entry_bytes(spec) + beside)
        self._keep({path: self._leaf(path, *layout) for path, layout in spec.items()})

    def __getitem__(self, key: str) -> Tensor:
        return self._leaves[key,].tensor

    def __contains__(self, key: str) -> bool:
        return (key,) in self._leaves

    def _settle(self, row: int, transition: Mapping[str, Any], first: bool) -> None:
        """Allocate entries that are new with this row; ValueError if not allowed."""
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
        leaves = {p: f for p, f in self._leaves.items() if p[0] in got or not first}
        extras = {name: x for name, x in transition.items() if name not in own}
        leaves |= {path: self._new_leaf(path, x) for path, x in flatten(extras)}
        self._keep(leaves)
        if VALID in leaves and VALID[0] not in got:
            leaves[VALID].tensor[row] = True

    def _new_leaf(self, path: spaces.Path, value: Any) -> Leaf:
        """Allocate an entry for an extra of the agent."""
        tensor = self._tensor(path, value)
        if tensor.shape[:1] != (self.num_envs,):
            raise ValueError(
                f"entry {'.'.join(path)!r} of a transition takes the shape"
                f" ({self.num_envs}, ...), got {tuple(tensor.shape)}: return one value"
                " for each environment"
            )
        double = tensor.dtype == torch.float64
        layout = tuple(tensor.shape[1:]), torch.float32 if double else tensor.dtype
        self._check_memory(entry_bytes({path: layout}))
        return self._leaf(path, *layout)

    def _leaf(
        self, path: spaces.Path, shape: tuple[int, ...], dtype: torch.dtype
    ) -> Leaf:
        size = self.rows, self.num_envs, *shape
        tensor = torch.zeros(size, dtype=dtype, device=self.device)
        if path == VALID:
            tensor.fill_(True)
        return Leaf.of(tensor)

    def _keep(self, leaves: dict[spaces.Path, Leaf]) -> None:
        """Set the entries, and the lookup tables that every step uses."""
        self.entries = frozenset()  # empty until all tables agree: Ctrl-C may interrupt
        self._leaves = leaves
        self._children: dict[spaces.Path, set[str]] = {}
        for path in leaves:
            for depth, name in enumerate(path[1:], 1):
                self._children.setdefault(path[:depth], set()).add(name)
        self.entries = frozenset(path[0] for path in leaves)

    def _tensor(self, path: spaces.Path, value: Any) -> Tensor:
        try:
            return torch.as_tensor(value)
        except (RuntimeError, TypeError, ValueError) as reason:
            raise self._misfit(path, f"one {type(value).__name__}") from reason

    def _misfit(self, path: spaces.Path, got: str) -> ValueError:
        leaf, own = self._leaves.get(path), "one value for each environment"
        if leaf is not None:
            own = f"the shape {leaf.row}"
        elif path in self._children:
            own = f"the entries {sorted(self._children[path])}"
        return ValueError(
            f"entry {'.'.join(path)!r} of a transition takes {own}, got {got}: what the"
            " agent or the environment returns does not fit its spaces"
        )

    def _check_memory(self, entry: int) -> None:
        count = self.rows * self.num_envs
        check_memory(count, entry, self.device, **self._size)
